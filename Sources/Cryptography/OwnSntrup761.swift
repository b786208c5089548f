import Base

/// Encapsulation of sntrup761 by code of our own, where no libgcrypt has it (`GcryptSntrup761`). There is no key
/// generation and no decapsulation here.
///
/// The secret polynomial decides no branch, no memory address, and no operand of a division: coefficients are sorted by
/// a network (`ObliviousSort`), multiplied in full, and reduced by multiplications and shifts (`SntrupPolynomial`). The
/// public key and the ciphertext are public; their coders may divide (`SntrupCode`). Memory of secrets is zeroed. Any
/// thread; about a millisecond in an optimised build.
public struct OwnSntrup761: Sendable {
    private let random: any RandomSource

    public init(random: some RandomSource = SystemRandomSource()) { self.random = random }

    /// - Parameter publicKey: 1158 bytes. As in the reference implementation any bytes are a key; the secret of one that
    ///   no key generation makes is a secret that nobody else gets.
    /// - Throws: `.invalidKey` for another length.
    public func encapsulate(to publicKey: [UInt8]) throws(CryptographyError) -> Sntrup761.Encapsulation {
        try Sntrup761.check(publicKey)
        let key = SntrupCode.decodeKey(publicKey)
        return withWipedMemory(Int32.self, count: SntrupPolynomial.degree) { small in
            SntrupPolynomial.short(from: random, into: small)
            let secret = UnsafeBufferPointer(small)
            let smallCode = WipedBytes(count: SntrupCode.smallLength) { code in
                SntrupCode.encodeSmall(secret, into: code)
            }
            let smallHash = Self.hash(3, [smallCode])
            let rounded = SntrupPolynomial.roundedProduct(of: key, and: secret)
            // Behind the ciphertext itself: shows the key's holder, who decrypts it, that it was made properly.
            let confirmation = Self.hash(2, [smallHash, Self.hash(4, [WipedBytes(publicKey)])])
            let ciphertext = SntrupCode.encodeRounded(rounded) + confirmation.bytes
            return Sntrup761.Encapsulation(
                ciphertext: ciphertext, secret: Self.hash(1, [smallHash, WipedBytes(ciphertext)]))
        }
    }

    /// The first 32 bytes of SHA-512, with the number of its use in front.
    private static func hash(_ use: UInt8, _ parts: [WipedBytes]) -> WipedBytes {
        var state = SHA512()
        state.update([use])
        for part in parts { part.withUnsafeBytes { state.update($0) } }
        var digest = state.finalize()
        return WipedBytes(taking: &digest)[0..<Sntrup761.secretLength]
    }
}
