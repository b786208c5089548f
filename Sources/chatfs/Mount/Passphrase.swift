import Base
import Cryptography
import Glibc
import Posix

/// The passphrase of a database between its reading and its only use: in locked memory, which is wiped when the
/// one who took it is done.
final class Passphrase: Sendable {
    private let secret: Lock<SecretBytes?>

    init(_ secret: SecretBytes) { self.secret = Lock(secret) }

    /// The first time only.
    func take() -> SecretBytes? {
        secret.withLock { secret in
            defer { secret = nil }
            return secret
        }
    }

    /// What comes from a descriptor, up to its end or that of its first line, which is left out. At most 4096
    /// bytes. Goes nowhere else on its way. Blocks.
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
