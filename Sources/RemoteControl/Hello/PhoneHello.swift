import Base
import Cryptography
import JSON

/// The phone's hello, decrypted and verified.
public struct PhoneHello: Sendable {
    /// The phone's session key as SubjectPublicKeyInfo DER, 44 bytes. It decrypts the next announcement.
    public let agreementKey: [UInt8]
    public let app: PhoneApp
    /// The sntrup761 key, 1158 bytes.
    let kemKey: [UInt8]
    /// The raw key agreement.
    let secret: WipedBytes

    /// - Parameters:
    ///   - block: 16,384 bytes.
    ///   - key: This session's key.
    ///   - authority: SHA-256 of the phone's certificate authority in TLS.
    /// - Throws: `.malformed`, `.notAuthentic`; `.incompatible` for another protocol, version or encoding; `.identity`
    ///   for another authority.
    public init(
        _ block: [UInt8], key: AgreementKey, authority: [UInt8], versions: AppVersionRange
    ) throws(RemoteControlError) {
        guard block.count == HelloBlock.size, let content = Padding.unpad(block) else { throw Self.malformed }
        var reader = ByteReader(content)
        guard reader.bytes(HelloBlock.mark.count) == HelloBlock.mark, let spki = reader.byteString(),
            let nonce = reader.bytes(MessageBox.nonceLength), reader.remaining == HelloBlock.boxSize
        else { throw Self.malformed }
        do throws(CryptographyError) {
            secret = try key.wipedSecret(with: spki)
        } catch {
            throw RemoteControlError(.malformed, error.sentence, cause: error)
        }
        guard let text = MessageBox.openPadded(reader.rest(), key: secret, nonce: nonce) else {
            throw RemoteControlError(
                .notAuthentic, "The phone's hello is encrypted for another computer.")
        }
        guard let json = JSONValue.parse(text), let version = json["v"]?.integer,
            let named = json["ca"]?.string.flatMap(Base64URL.decode),
            let kemKey = json["kem"]?.string.flatMap(Base64URL.decode),
            kemKey.count == Sntrup761.publicKeyLength, let about = json["app"]
        else { throw Self.malformed }
        guard named == authority else {
            throw RemoteControlError(
                .identity, "The phone's hello names another identity than its certificate.")
        }
        guard version == Invitation.protocolVersion, let app = PhoneApp(about), versions.contains(app.version)
        else {
            throw RemoteControlError(
                .incompatible,
                "The phone's app has a version that this one does not know; see --versions, or update one of them."
            )
        }
        agreementKey = spki
        self.app = app
        self.kemKey = kemKey
    }

    private static let malformed = RemoteControlError(
        .malformed, "The phone's hello violates the protocol.")
}
