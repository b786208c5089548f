import Cryptography

/// sntrup761 of libgcrypt 1.11 or later (`GcryptSntrup761`) as a KEM.
public struct GcryptKEM: KEM {
    private let library: GcryptSntrup761

    /// The one of this process, or nil where no libgcrypt has it.
    public static let installed = GcryptSntrup761.installed.map { GcryptKEM(library: $0) }

    public func generate() throws(RatchetError) -> KEMKey {
        let pair = try refusing { () throws(CryptographyError) in try library.generate() }
        guard let key = KEMKey(publicKey: pair.publicKey, secretKey: pair.secretKey) else {
            throw Self.refused
        }
        return key
    }

    public func encapsulate(to publicKey: [UInt8]) throws(RatchetError) -> Encapsulation {
        guard publicKey.count == KEMLength.publicKey else { throw .malformed }
        let made = try refusing { () throws(CryptographyError) in try library.encapsulate(to: publicKey) }
        guard let encapsulation = Encapsulation(ciphertext: made.ciphertext, secret: made.secret) else {
            throw Self.refused
        }
        return encapsulation
    }

    public func decapsulate(_ ciphertext: [UInt8], with key: KEMKey) throws(RatchetError) -> WipedBytes {
        guard ciphertext.count == KEMLength.ciphertext else { throw .malformed }
        return try refusing { () throws(CryptographyError) in
            try library.decapsulate(ciphertext, with: key.secretKey)
        }
    }

    private func refusing<Result>(
        _ step: () throws(CryptographyError) -> Result
    ) throws(RatchetError) -> Result {
        do throws(CryptographyError) { return try step() } catch { throw Self.refused }
    }

    private static let refused = RatchetError(
        .library, "libgcrypt refused a step of the post-quantum encryption.")
}
