import Base
import Glibc
import Posix

/// An error of a key, tag, block or encrypted file.
public typealias CryptographyError = CodedError<CryptographyErrorCode>

/// The errors, by their consequence. `notAuthentic` and `tooShort` mean damaged bytes.
public enum CryptographyErrorCode: Hashable, Sendable {
    /// A key, nonce or signature has a wrong length or kind.
    case invalidKey
    /// The tag of a file or block is wrong.
    case notAuthentic
    /// The file is shorter than its tag.
    case tooShort
    /// A CryptoFile was read before verification.
    case notVerified
    /// The text is not the JSON of a CryptoFile's arguments.
    case invalidArguments
    /// A system call failed; `cause` is a `SystemError`.
    case file
    /// fsync(2) failed; `cause` is a `SystemError`. The kernel takes lost pages for written, so a repetition may succeed.
    case notDurable
    /// The destination exists and is no regular file.
    case notRegularFile
    /// Too little memory to derive a key from a passphrase.
    case noMemory
    /// OpenSSL or libsodium failed with valid arguments.
    case library
}

extension CryptographyError {
    /// Wraps a system error.
    public init(_ error: SystemError) {
        self.init(.file, error.sentence, cause: error)
    }

    /// The errno of a system error, otherwise nil. Writers check it for ENOSPC.
    public var systemCode: Int32? { systemError?.code }
    public var systemError: SystemError? { cause as? SystemError }

    /// Whether the bytes on disk were changed or cannot be read (EIO).
    public var isDamage: Bool {
        switch code {
        case .notAuthentic, .tooShort: true
        case .file: systemCode == EIO
        default: false
        }
    }

    static var notKept: CryptographyError {
        CryptographyError(
            .notAuthentic, "The disk returned other bytes than were written; check the disk.")
    }

    static func library(_ operation: String) -> CryptographyError {
        CryptographyError(.library, "The cryptographic library could not \(operation).")
    }
}

/// Runs a file operation and wraps its error.
func wrappingSystemError<Result>(
    _ body: () throws(SystemError) -> Result
) throws(CryptographyError) -> Result {
    do throws(SystemError) {
        return try body()
    } catch {
        throw CryptographyError(error)
    }
}
