import Base
import Cryptography
import Glibc
import Posix

/// A secret that unlocks the data.
public enum UnlockingSecret: Sendable {
    case passphrase(SecretBytes)
    case recoveryCode(RecoveryCode)
    /// 32 random bytes.
    case key(SecretBytes)
    /// 32 random bytes, stored in the keyring.
    case keyringKey(SecretBytes)

    /// In bytes.
    public static let longestPassphrase = 1024

    func wrappingKey(salt: [UInt8], cost: Argon2id.Cost?) throws(KeySlotsError) -> SecretBytes {
        switch self {
        case .passphrase(let passphrase):
            guard (1...Self.longestPassphrase).contains(passphrase.count) else {
                throw KeySlotsError(
                    .unsuitableSecret,
                    "A passphrase has 1 to \(Self.longestPassphrase) bytes; this one has \(passphrase.count)."
                )
            }
            do throws(CryptographyError) {
                return try Argon2id.key(from: passphrase, salt: salt, cost: cost ?? .usual)
            } catch {
                throw KeySlotsError(.memory, error.sentence, cause: error)
            }
        // The code has enough entropy without a slow derivation.
        case .recoveryCode(let code):
            return BLAKE2b.derive("chatfs key slot: recovery code", salt, from: code.symbols)
        case .key(let key), .keyringKey(let key):
            guard key.count == DataKey.length else {
                throw KeySlotsError(
                    .unsuitableSecret, "A key has \(DataKey.length) bytes; this one has \(key.count).")
            }
            return BLAKE2b.derive("chatfs key slot: key", salt, from: key)
        }
    }

    /// Reads a passphrase from an open file or pipe to its end, without a trailing newline. It is never copied to other
    /// memory.
    ///
    /// - Throws: `.unsuitableSecret`, `.file`.
    public static func passphrase(from file: OpenFile) throws(KeySlotsError) -> UnlockingSecret {
        // Room for the newline and a byte that reveals a longer passphrase.
        let read = try bytes(from: file, upTo: longestPassphrase + 2)
        let count = read.withUnsafeBytes { $0.last == UInt8(ascii: "\n") ? $0.count - 1 : $0.count }
        guard (1...longestPassphrase).contains(count) else {
            throw KeySlotsError(
                .unsuitableSecret, "Expected a passphrase of 1 to \(longestPassphrase) bytes.")
        }
        return .passphrase(part(of: read, count))
    }

    /// Reads a key of 32 bytes from an open file or pipe.
    /// - Throws: `.unsuitableSecret`, `.file`.
    public static func key(from file: OpenFile) throws(KeySlotsError) -> UnlockingSecret {
        let read = try bytes(from: file, upTo: DataKey.length + 1)
        guard read.count == DataKey.length else {
            throw KeySlotsError(.unsuitableSecret, "Expected a key of \(DataKey.length) bytes.")
        }
        return .key(read)
    }

    /// Reads a recovery code from an open file or pipe.
    /// - Throws: `.mistypedCode`, `.file`.
    public static func recoveryCode(from file: OpenFile) throws(KeySlotsError) -> UnlockingSecret {
        // A character has at most four bytes.
        let read = try bytes(from: file, upTo: RecoveryCode.longestText * 4 + 1)
        return .recoveryCode(try RecoveryCode(read.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }))
    }

    private static func part(of bytes: SecretBytes, _ count: Int) -> SecretBytes {
        SecretBytes(upTo: count) { (memory: UnsafeMutableRawBufferPointer) -> Int in
            bytes.withUnsafeBytes { memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            return count
        }
    }

    private static func bytes(from file: OpenFile, upTo limit: Int) throws(KeySlotsError) -> SecretBytes {
        do throws(SystemError) {
            return try SecretBytes(upTo: limit) {
                (memory: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int in
                var filled = 0
                while filled < limit {
                    let rest = UnsafeMutableRawBufferPointer(rebasing: memory[filled...])
                    let count = try check("read a passphrase or key") {
                        Glibc.read(file.descriptor, rest.baseAddress, rest.count)
                    }
                    if count == 0 { break }
                    filled += count
                }
                return filled
            }
        } catch {
            throw KeySlotsError(error)
        }
    }
}
