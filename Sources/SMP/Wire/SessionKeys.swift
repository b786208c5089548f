import Base
import Cryptography

/// The TLS values of a server, for comparison with its hello.
public struct TLSPeer: Hashable, Sendable {
    /// The channel binding: the client's own Finished message.
    public var sessionID: [UInt8]
    /// DER, leaf first, already verified against the fingerprint in the address.
    public var certificates: [[UInt8]]
    /// The fingerprint of the identity certificate, 32 bytes.
    public var fingerprint: [UInt8]

    public init(sessionID: [UInt8], certificates: [[UInt8]], fingerprint: [UInt8]) {
        self.sessionID = sessionID
        self.certificates = certificates
        self.fingerprint = fingerprint
    }
}

/// The values that both sides share after the hellos.
public struct SessionKeys: Sendable {
    public let version: UInt16
    public let sessionID: [UInt8]
    /// The server's session key, which authenticates commands.
    public let serverKey: [UInt8]
    let blocks: BlockCipher
    /// The agreement of both session keys, for a server that forwards requests.
    public var handing: HandingOn?

    /// Reads the server's first block and answers it.
    /// - Parameter key: The session key of this connection.
    /// - Throws: `.malformed`, `.unsupportedVersion`; `.wrongIdentity` if the hello does not belong to `peer`, or its
    ///   key is unsigned or unusable.
    public static func agree(
        block: [UInt8], peer: TLSPeer, key: AgreementKey
    ) throws(SMPError) -> (keys: SessionKeys, hello: [UInt8]) {
        guard block.count == TransportBlock.size, let message = Padding.unpad(block),
            let hello = ServerHello(decoding: message)
        else { throw .malformed }
        guard let version = SMPVersion.agreed(hello.versions, SMPVersion.servers) else {
            throw SMPError(
                .unsupportedVersion,
                "The messaging server speaks versions \(hello.versions.text), this program \(SMPVersion.servers.text)."
            )
        }
        guard constantTimeEqual(hello.sessionID, peer.sessionID), hello.certificates == peer.certificates,
            let serverKey = SignedKey.key(hello.signedKey, signedByLeafOf: hello.certificates)
        else {
            throw SMPError(.wrongIdentity, "The messaging server is not the one that its address names.")
        }
        let secret: WipedBytes
        do throws(CryptographyError) {
            secret = try key.wipedSecret(with: serverKey)
        } catch {
            throw SMPError(.wrongIdentity, "The messaging server's key is unusable.", cause: error)
        }
        let answer = ClientHello(version: version, identity: peer.fingerprint, key: key.publicKey)
        guard let padded = Padding.pad(answer.encoded, to: TransportBlock.size) else { throw .malformed }
        let keys = SessionKeys(
            version: version, sessionID: hello.sessionID, serverKey: serverKey,
            blocks: BlockCipher(secret: secret, sessionID: hello.sessionID, side: .client),
            handing: HandingOn(hello, secret))
        return (keys, padded)
    }
}

extension SignedKey {
    /// Returns the key of a session if the first certificate signed it.
    static func key(_ der: [UInt8], signedByLeafOf certificates: [[UInt8]]) -> [UInt8]? {
        guard let leaf = certificates.first.flatMap(publicKey(ofCertificate:)),
            let verifying = VerifyingKey(spki: leaf), let signed = SignedKey(der),
            signed.isSigned(by: verifying)
        else { return nil }
        return signed.key
    }
}
