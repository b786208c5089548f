import Base
import Cryptography

/// What a link to this computer says, `xrcp:/…`. The phone encodes what it read once more and verifies the signatures
/// over that, so the text has one form, byte for byte.
public struct Invitation: Hashable, Sendable {
    /// The only version of the protocol.
    static let protocolVersion = 1
    /// The longest that fits an announcement.
    public static let longestAnnounced = 898

    /// SHA-256 of the DER of this pairing's certificate authority: 32 bytes.
    public var authority: [UInt8]
    /// Where the phone is to connect: an IPv4 or IPv6 address without brackets, or a DNS name. It need not be the one
    /// that is listened on.
    public var host: String
    public var port: UInt16
    public var versions: AppVersionRange
    public var name: DeviceName
    /// Seconds since 1970. Nobody checks it.
    public var time: Int64
    /// SubjectPublicKeyInfo DER, 44 bytes, of X25519.
    public var agreementKey: [UInt8]

    public init(
        authority: [UInt8], host: String, port: UInt16, versions: AppVersionRange, name: DeviceName,
        time: Int64, agreementKey: [UInt8]
    ) {
        self.authority = authority
        self.host = host
        self.port = port
        self.versions = versions
        self.name = name
        self.time = time
        self.agreementKey = agreementKey
    }

    /// The link, signed with the key of the session, and then with that of the pairing.
    /// - Throws: `.configuration` for a host that no link can have, or an authority of another length.
    public func link(session: SigningKey, identity: SigningKey) throws(RemoteControlError) -> String {
        try check()
        let signed = text(host: host, session: session, identity: identity)
        let signature = session.sign(Array(signed.utf8))
        let identitySignature = identity.sign(
            Array(Self.signedByIdentity(signed, signature).utf8))
        // Colons of an IPv6 address stand in the link encoded and in what is signed as they are.
        let escaped = host.replacing(":", with: "%3A")
        return text(host: escaped, session: session, identity: identity) + "&ssig="
            + Base64URL.encode(signature) + "&idsig=" + Base64URL.encode(identitySignature)
    }

    /// With the common alphabet, unlike the one of the link.
    static func signedByIdentity(_ signed: String, _ signature: [UInt8]) -> String {
        signed + "&ssig=" + Base64.encode(signature)
    }

    /// Everything in front of the signatures.
    func text(host: String, session: SigningKey, identity: SigningKey) -> String {
        let app = PercentEncoding.encode(application)
        func key(_ spki: [UInt8]) -> String { PercentEncoding.encode(Base64URL.encode(spki)) }
        return "xrcp:/\(Base64URL.encode(authority))@\(host):\(port)#/?v=\(Self.protocolVersion)&app=\(app)"
            + "&ts=\(time)&skey=\(key(session.publicKey))&idkey=\(key(identity.publicKey))"
            + "&dh=\(key(agreementKey))"
    }

    /// Keys in the order of the alphabet, no spaces.
    private var application: String {
        let string = CanonicalJSON.string
        return #"{"appVersionRange":{"maxVersion":\#(string("\(versions.maximum)")),"#
            + #""minVersion":\#(string("\(versions.minimum)"))},"deviceName":\#(string(name.text))}"#
    }

    private func check() throws(RemoteControlError) {
        guard authority.count == SHA256.length, AgreementKey.isPublicKey(agreementKey), port > 0 else {
            throw RemoteControlError(.configuration, "The keys or the port of a link are not usable.")
        }
        let isHost = host.utf8.allSatisfy { byte in
            PercentEncoding.Unescaped.unreserved.contains(byte) || byte == UInt8(ascii: ":")
        }
        guard isHost, (1...253).contains(host.utf8.count) else {
            throw RemoteControlError(
                .configuration, "“\(host)” is no address or name that a phone can connect to.")
        }
    }
}
