import Cryptography

/// With what a command is authorised.
public enum CommandKey: Sendable {
    /// A signature, which proves to everybody who sent the command.
    case signing(SigningKey)
    /// Authenticated by an agreement with the server, which proves it to the server alone.
    case agreement(AgreementKey)

    /// SubjectPublicKeyInfo, as the server gets it.
    public var publicKey: [UInt8] {
        switch self {
        case .signing(let key): key.publicKey
        case .agreement(let key): key.publicKey
        }
    }

    /// - Parameters:
    ///   - bytes: `Transmission.signedBytes`.
    ///   - correlationID: 24 bytes, which no other command has.
    ///   - serverKey: of the session.
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
