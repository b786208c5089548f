import Base
import Cryptography

/// Fields of headers and agreement parameters.
extension ByteReader {
    /// Reads an X448 key in SubjectPublicKeyInfo form.
    mutating func x448Key() -> X448PublicKey? { byteString().flatMap { X448PublicKey(spki: $0) } }

    /// Reads `P` and a key, or `A`, a ciphertext and a key.
    mutating func kemOffer() -> KEMOffer? {
        switch byte() {
        case UInt8(ascii: "P"):
            return kemField(KEMLength.publicKey).map { .proposed(key: $0) }
        case UInt8(ascii: "A"):
            guard let ciphertext = kemField(KEMLength.ciphertext), let key = kemField(KEMLength.publicKey)
            else { return nil }
            return .accepted(ciphertext: ciphertext, key: key)
        default: return nil
        }
    }

    private mutating func kemField(_ length: Int) -> [UInt8]? {
        large().flatMap { $0.count == length ? $0 : nil }
    }

    mutating func secret(_ count: Int) -> WipedBytes? { slice(count).map { WipedBytes($0) } }
}

extension [UInt8] {
    mutating func append(_ offer: KEMOffer) {
        switch offer {
        case .proposed(let key):
            append(UInt8(ascii: "P"))
            append(large: key)
        case .accepted(let ciphertext, let key):
            append(UInt8(ascii: "A"))
            append(large: ciphertext)
            append(large: key)
        }
    }

    mutating func append(_ secret: WipedBytes) { secret.withUnsafeBytes { append(contentsOf: $0) } }
}

/// The versions of end-to-end encryption: 2 (X3DH with a KDF), 3 (KEM, lengths of two bytes).
public enum RatchetVersion {
    public static let supported: ClosedRange<UInt16> = 2...3
    static let withKEM: UInt16 = 3
}
