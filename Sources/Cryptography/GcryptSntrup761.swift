import Base
import CLinux

/// sntrup761 of libgcrypt 1.11 or later, loaded where it is there: nothing needs it to be installed. Any thread.
public struct GcryptSntrup761: @unchecked Sendable {
    // Safe: functions of a library that is never unloaded and may be called from any thread.
    private typealias KeyPair =
        @convention(c) (
            Int32, UnsafeMutableRawPointer?, Int, UnsafeMutableRawPointer?, Int
        ) -> UInt32
    private typealias Encapsulate =
        @convention(c) (
            Int32, UnsafeRawPointer?, Int, UnsafeMutableRawPointer?, Int, UnsafeMutableRawPointer?, Int,
            UnsafeRawPointer?, Int
        ) -> UInt32
    private typealias Decapsulate =
        @convention(c) (
            Int32, UnsafeRawPointer?, Int, UnsafeRawPointer?, Int, UnsafeMutableRawPointer?, Int,
            UnsafeRawPointer?, Int
        ) -> UInt32
    private typealias CheckVersion = @convention(c) (UnsafePointer<CChar>?) -> UnsafePointer<CChar>?

    /// GCRY_KEM_SNTRUP761
    private static let algorithm: Int32 = 1
    /// GCRYCTL_INITIALIZATION_FINISHED_P, GCRYCTL_DISABLE_SECMEM, GCRYCTL_INITIALIZATION_FINISHED: its keys are in
    /// memory of ours, so its pool of locked memory would be for its generator alone.
    private static let (isInitialised, disableSecureMemory, initialised): (Int32, Int32, Int32) = (39, 37, 38)

    private let keyPair: KeyPair
    private let encapsulate: Encapsulate
    private let decapsulate: Decapsulate

    /// The one of this process, or nil where no libgcrypt has it.
    public static let installed = GcryptSntrup761(path: "libgcrypt.so.20")

    /// - Parameter path: of the library; it stays loaded.
    public init?(path: String) {
        guard let library = SharedLibrary(path) else { return nil }
        let checkVersion: CheckVersion
        let control: UnsafeMutableRawPointer
        do {
            checkVersion = try library.function("gcry_check_version")
            control = try library.address("gcry_control")
            keyPair = try library.function("gcry_kem_keypair")
            self.encapsulate = try library.function("gcry_kem_encap")
            self.decapsulate = try library.function("gcry_kem_decap")
        } catch {
            return nil
        }
        // The first call of all, by which it prepares itself.
        _ = checkVersion(nil)
        if chatfs_gcry_control(control, Self.isInitialised) == 0 {
            _ = chatfs_gcry_control(control, Self.disableSecureMemory)
            _ = chatfs_gcry_control(control, Self.initialised)
        }
    }

    /// A new key pair: 1158 and 1763 bytes.
    /// - Throws: `.library` when the library refuses.
    public func generate() throws(CryptographyError) -> (publicKey: [UInt8], secretKey: WipedBytes) {
        var publicKey = [UInt8](repeating: 0, count: Sntrup761.publicKeyLength)
        let secretKey = try WipedBytes(count: Sntrup761.secretKeyLength) {
            (memory) throws(CryptographyError) in
            let refusal = keyPair(
                Self.algorithm, &publicKey, Sntrup761.publicKeyLength, memory.baseAddress, memory.count)
            guard refusal == 0 else { throw .library("make a post-quantum key") }
        }
        return (publicKey, secretKey)
    }

    /// - Throws: `.invalidKey` for a key of another length than 1158 bytes, `.library` when the library refuses.
    public func encapsulate(to publicKey: [UInt8]) throws(CryptographyError) -> Sntrup761.Encapsulation {
        try Sntrup761.check(publicKey)
        var ciphertext = [UInt8](repeating: 0, count: Sntrup761.ciphertextLength)
        let secret = try WipedBytes(count: Sntrup761.secretLength) { (memory) throws(CryptographyError) in
            let refusal = encapsulate(
                Self.algorithm, publicKey, publicKey.count, &ciphertext, Sntrup761.ciphertextLength,
                memory.baseAddress, memory.count, nil, 0)
            guard refusal == 0 else { throw .library("encapsulate to a post-quantum key") }
        }
        return Sntrup761.Encapsulation(ciphertext: ciphertext, secret: secret)
    }

    /// The secret in a ciphertext of 1039 bytes. One that was not made for this key gives another secret, and no error.
    /// - Throws: `.invalidKey` for a ciphertext or key of another length, `.library` when the library refuses.
    public func decapsulate(
        _ ciphertext: [UInt8], with secretKey: WipedBytes
    ) throws(CryptographyError) -> WipedBytes {
        guard ciphertext.count == Sntrup761.ciphertextLength, secretKey.count == Sntrup761.secretKeyLength
        else {
            throw CryptographyError(.invalidKey, "A post-quantum key or ciphertext has another length.")
        }
        return try WipedBytes(count: Sntrup761.secretLength) { (memory) throws(CryptographyError) in
            let refusal = secretKey.withUnsafeBytes { secret in
                decapsulate(
                    Self.algorithm, secret.baseAddress, secret.count, ciphertext, ciphertext.count,
                    memory.baseAddress, memory.count, nil, 0)
            }
            guard refusal == 0 else { throw .library("decapsulate a post-quantum secret") }
        }
    }
}
