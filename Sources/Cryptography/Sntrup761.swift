/// Streamlined NTRU Prime 761, the post-quantum KEM of SimpleX: its lengths, and what encapsulation gives.
public enum Sntrup761 {
    public static let publicKeyLength = 1158
    public static let secretKeyLength = 1763
    public static let ciphertextLength = 1039
    public static let secretLength = 32

    /// A fresh secret, and the ciphertext from which only the key's holder gets it.
    public struct Encapsulation: Sendable {
        /// 1039 bytes.
        public let ciphertext: [UInt8]
        /// 32 bytes.
        public let secret: WipedBytes
    }

    static func check(_ publicKey: [UInt8]) throws(CryptographyError) {
        guard publicKey.count == publicKeyLength else {
            throw CryptographyError(
                .invalidKey, "A public key of the post-quantum encryption has 1158 bytes.")
        }
    }
}
