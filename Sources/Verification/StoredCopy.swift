import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// A CryptoFile that a row refers to.
public struct StoredCopy: Sendable {
    /// nil for a draft's, and for files of other cores than the embedded one.
    public let file: FileID?
    /// Folder and name in the mount.
    public let path: String
    /// Plaintext size in bytes from the row; nil if unknown.
    public let size: UInt64?
    public let source: FileSourceLocation
    /// True if it came through a relay that has promised to keep it until now.
    public let isReceivable: Bool
    /// True if a mount fetches it again when it is read.
    public var isRefetchable = false
    /// The SHA-512 of the file, as its sender described it; nil where that is not known.
    public var describedDigest: [UInt8]?

    /// The condition of a copy.
    public enum Condition: Hashable, Sendable {
        case whole
        /// The sentence describes the damage.
        case damaged(String)
        /// The received file differs from its sender's description.
        case contradictory
        case missing
        /// Not readable to its end at present, which says nothing about its bytes. The sentence tells why.
        case unreadable(String)
    }

    /// Reads the copy to its tag. Blocks.
    /// - Parameter read: Receives the size of each piece in bytes.
    public func examine(read: (UInt64) -> Void) -> Condition {
        guard let arguments = source.arguments else {
            return .damaged("Its key is missing.")
        }
        do throws(CryptographyError) {
            let file = try Self.open(source.path)
            let reader = try CryptoFileReader(file: file, arguments: arguments)
            guard reader.size == size ?? reader.size else {
                return .damaged("It has \(reader.size) bytes of \(size ?? 0).")
            }
            var verification = reader.beginVerification(digesting: describedDigest != nil)
            var position: UInt64 = 0
            while try !reader.step(&verification) {
                read(verification.position - position)
                position = verification.position
            }
            read(verification.position - position)
            return verification.digest == describedDigest ? .whole : .contradictory
        } catch {
            return Self.condition(for: error)
        }
    }

    /// Classifies an error. Only evidence about the bytes, or about a replaced file, is damage; a limit of descriptors
    /// or missing access is not.
    static func condition(for error: CryptographyError) -> Condition {
        switch error.systemCode {
        case ENOENT, ENOTDIR: .missing
        // A link or directory in its place, or a disk that cannot return the bytes.
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
