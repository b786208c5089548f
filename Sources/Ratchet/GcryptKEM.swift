import Base
import CLinux
import Cryptography
import Glibc

/// sntrup761 of libgcrypt 1.11 or later, loaded when it is there: nothing needs it to be installed.
public struct GcryptKEM: KEM, @unchecked Sendable {
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
    public static let installed = GcryptKEM(path: "libgcrypt.so.20")

    /// - Parameter path: of the library; it stays loaded.
    init?(path: String) {
        guard let library = dlopen(path, RTLD_NOW | RTLD_LOCAL) else { return nil }
        func symbol<Function>(_ name: String, _ type: Function.Type) -> Function? {
            dlsym(library, name).map { unsafeBitCast($0, to: Function.self) }
        }
        guard let checkVersion = symbol("gcry_check_version", CheckVersion.self),
            let control = dlsym(library, "gcry_control"),
            let keyPair = symbol("gcry_kem_keypair", KeyPair.self),
            let encapsulate = symbol("gcry_kem_encap", Encapsulate.self),
            let decapsulate = symbol("gcry_kem_decap", Decapsulate.self)
        else {
            dlclose(library)
            return nil
        }
        // The first call of all, by which it prepares itself.
        _ = checkVersion(nil)
        if chatfs_gcry_control(control, Self.isInitialised) == 0 {
            _ = chatfs_gcry_control(control, Self.disableSecureMemory)
            _ = chatfs_gcry_control(control, Self.initialised)
        }
        self.keyPair = keyPair
        self.encapsulate = encapsulate
        self.decapsulate = decapsulate
    }

    public func generate() throws(RatchetError) -> KEMKey {
        var publicKey = [UInt8](repeating: 0, count: KEMLength.publicKey)
        let secretKey = try WipedBytes(count: KEMLength.secretKey) { (memory) throws(RatchetError) in
            let refusal = keyPair(
                Self.algorithm, &publicKey, KEMLength.publicKey, memory.baseAddress, memory.count)
            guard refusal == 0 else { throw Self.refused }
        }
        guard let key = KEMKey(publicKey: publicKey, secretKey: secretKey) else { throw Self.refused }
        return key
    }

    public func encapsulate(to publicKey: [UInt8]) throws(RatchetError) -> Encapsulation {
        guard publicKey.count == KEMLength.publicKey else { throw .malformed }
        var ciphertext = [UInt8](repeating: 0, count: KEMLength.ciphertext)
        let secret = try WipedBytes(count: KEMLength.secret) { (memory) throws(RatchetError) in
            let refusal = encapsulate(
                Self.algorithm, publicKey, publicKey.count, &ciphertext, KEMLength.ciphertext,
                memory.baseAddress,
                memory.count, nil, 0)
            guard refusal == 0 else { throw Self.refused }
        }
        guard let encapsulation = Encapsulation(ciphertext: ciphertext, secret: secret) else {
            throw Self.refused
        }
        return encapsulation
    }

    public func decapsulate(_ ciphertext: [UInt8], with key: KEMKey) throws(RatchetError) -> WipedBytes {
        guard ciphertext.count == KEMLength.ciphertext else { throw .malformed }
        return try WipedBytes(count: KEMLength.secret) { (memory) throws(RatchetError) in
            let refusal = key.secretKey.withUnsafeBytes { secret in
                decapsulate(
                    Self.algorithm, secret.baseAddress, secret.count, ciphertext, ciphertext.count,
                    memory.baseAddress, memory.count, nil, 0)
            }
            guard refusal == 0 else { throw Self.refused }
        }
    }

    private static let refused = RatchetError(
        .library, "libgcrypt refused a step of the post-quantum encryption.")
}
