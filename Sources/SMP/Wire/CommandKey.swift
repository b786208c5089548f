import Cryptography

/// The key that authorises a command.
public enum CommandKey: Sendable {
    /// A signature, verifiable by every reader.
    case signing(SigningKey)
    /// An authenticator from an agreement with the server, verifiable by that server alone.
    case agreement(AgreementKey)

    /// SubjectPublicKeyInfo for the server.
    public var publicKey: [UInt8] {
        switch self {
        case .signing(let key): key.publicKey
        case .agreement(let key): key.publicKey
        }
    }

    /// - Parameters:
    ///   - bytes: `Transmission.signedBytes`.
    ///   - correlationID: 24 unique bytes.
    ///   - serverKey: The server's session key.
    func authorization(of bytes: [UInt8], correlationID: [UInt8], serverKey: [UInt8]) throws(SMPError)
        -> [UInt8]
    {
        switch self {
        case .signing(let key): return key.sign(bytes)
        case .agreement(let key):
            do throws(CryptographyError) {
                let secret = try key.wipedSecret(with: serverKey)
                return MessageBox.seal(SHA512.hash(bytes), key: secret, nonce: correlationID)
            } catch {
                throw SMPError(.wrongIdentity, "The messaging server's key is unusable.", cause: error)
            }
        }
    }
}
