import Base
import Cryptography
import Glibc
import Posix

/// A database's passphrase in locked memory. It is used once and then wiped.
final class Passphrase: Sendable {
    private let secret: Lock<SecretBytes?>

    init(_ secret: SecretBytes) { self.secret = Lock(secret) }

    /// Returns the passphrase on the first call only.
    func take() -> SecretBytes? {
        secret.withLock { secret in
            defer { secret = nil }
            return secret
        }
    }

    /// Reads at most 4096 bytes of a descriptor directly into locked memory, to its end or the end of the first line,
    /// which is omitted. Blocks.
    static func read(from descriptor: Int32, line: Bool) throws(SystemError) -> SecretBytes {
        try SecretBytes(upTo: 4096) { buffer throws(SystemError) in
            var count = 0
            while count < buffer.count {
                let part = try check("read the passphrase") {
                    Glibc.read(descriptor, buffer.baseAddress?.advanced(by: count), buffer.count - count)
                }
                if part == 0 { break }
                count += part
                if line, buffer[count - 1] == 0x0A { break }
            }
            while count > 0, buffer[count - 1] == 0x0A || buffer[count - 1] == 0x0D { count -= 1 }
            return count
        }
    }
}
