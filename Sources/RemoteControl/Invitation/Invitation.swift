import Base
import Cryptography

/// The content of a link to this computer, `xrcp:/…`. The phone encodes the parsed link again and verifies the
/// signatures over that, so the text has exactly one form.
public struct Invitation: Hashable, Sendable {
    /// The only version of the protocol.
    static let protocolVersion = 1

    /// SHA-256 of the DER of this pairing's certificate authority: 32 bytes.
    public var authority: [UInt8]
    /// The host for the phone: an IPv4 or IPv6 address without brackets, or a DNS name. May differ from the listening
    /// address.
    public var host: String
    public var port: UInt16
    public var versions: AppVersionRange
    public var name: DeviceName
    /// Seconds since 1970. Not verified.
    public var time: Int64
    /// An X25519 key as SubjectPublicKeyInfo DER, 44 bytes.
    public var agreementKey: [UInt8]

    /// Returns the link, signed with the session's key and then with the pairing's.
    /// - Throws: `.configuration` for an invalid host, or an authority of wrong length.
    public func link(session: SigningKey, identity: SigningKey) throws(RemoteControlError) -> String {
        try check()
        let signed = text(host: host, session: session, identity: identity)
        let signature = session.sign(Array(signed.utf8))
        let identitySignature = identity.sign(
            Array(Self.signedByIdentity(signed, signature).utf8))
        // The link encodes the colons of an IPv6 address, and the signed text does not.
        let escaped = host.replacing(":", with: "%3A")
        return text(host: escaped, session: session, identity: identity) + "&ssig="
            + Base64URL.encode(signature) + "&idsig=" + Base64URL.encode(identitySignature)
    }

    /// With the common alphabet, unlike the link's.
    static func signedByIdentity(_ signed: String, _ signature: [UInt8]) -> String {
        signed + "&ssig=" + Base64.encode(signature)
    }

    /// The text before the signatures.
    func text(host: String, session: SigningKey, identity: SigningKey) -> String {
        let app = PercentEncoding.encode(application)
        func key(_ spki: [UInt8]) -> String { PercentEncoding.encode(Base64URL.encode(spki)) }
        return "xrcp:/\(Base64URL.encode(authority))@\(host):\(port)#/?v=\(Self.protocolVersion)&app=\(app)"
            + "&ts=\(time)&skey=\(key(session.publicKey))&idkey=\(key(identity.publicKey))"
            + "&dh=\(key(agreementKey))"
    }

    /// A JSON string in the phone's own encoding, over which it verifies signatures.
    static func string(_ value: String) -> String { QuotedText.quote(value, isShort: true) }

    /// Keys in alphabetical order, no spaces.
    private var application: String {
        let string = Self.string
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
                .configuration, "“\(host)” is not an address or name for a phone.")
        }
    }
}
