import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// A CryptoFile that a row names.
public struct StoredCopy: Sendable {
    /// nil for one that belongs to a draft, and for one that is not the embedded core's.
    public let file: FileID?
    /// Folder and name in the mount.
    public let path: String
    /// Bytes of plaintext, as the row has them; nil where no row says.
    public let size: UInt64?
    public let source: FileSourceLocation
    /// It came through a relay that has promised to keep it until now.
    public let isReceivable: Bool
    /// A mount has it fetched again when somebody reads it.
    public var isRefetchable = false

    /// What a look at it says.
    public enum Condition: Hashable, Sendable {
        case whole
        /// With what is wrong, a sentence.
        case damaged(String)
        case missing
        /// It could not be read to its end at present: that says nothing of its bytes. With why, a sentence.
        case unreadable(String)
    }

    /// Reads it to its tag. Blocks.
    /// - Parameter read: told of every piece, how many bytes it has.
    public func examine(read: (UInt64) -> Void) -> Condition {
        guard let arguments = source.arguments else {
            return .damaged("Its key is not there.")
        }
        do throws(CryptographyError) {
            let file = try Self.open(source.path)
            let reader = try CryptoFileReader(file: file, arguments: arguments)
            guard reader.size == size ?? reader.size else {
                return .damaged("It has \(reader.size) bytes of \(size ?? 0).")
            }
            var verification = reader.beginVerification()
            var position: UInt64 = 0
            while try !reader.step(&verification) {
                read(verification.position - position)
                position = verification.position
            }
            read(verification.position - position)
            return .whole
        } catch {
            return Self.condition(for: error)
        }
    }

    /// Only what proves something of the bytes, or of what lies in their place, is damage: a limit of descriptors or a
    /// missing right is none.
    static func condition(for error: CryptographyError) -> Condition {
        switch error.systemCode {
        case ENOENT, ENOTDIR: .missing
        // A link or a folder in its place; and, as for who reads it, a disk that does not give the bytes back.
        case ELOOP, EISDIR, EIO: .damaged(error.sentence)
        case nil where [.noMemory, .library].contains(error.code): .unreadable(error.sentence)
        case nil: .damaged(error.sentence)
        default: .unreadable(error.sentence)
        }
    }

    private static func open(_ path: String) throws(CryptographyError) -> OpenFile {
        do throws(SystemError) {
            return try OpenFile(path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        } catch {
            throw CryptographyError(error)
        }
    }
}
