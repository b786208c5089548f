import Base
import Posix

/// A key, a tag, a block or a file that cryptography refuses.
public typealias CryptographyError = CodedError<CryptographyErrorCode>

/// By its consequence: `notAuthentic` and `tooShort` mean damaged bytes, `file` carries the system's
/// reason as its cause.
public enum CryptographyErrorCode: Hashable, Sendable {
    /// A key, nonce or signature of the wrong length or kind.
    case invalidKey
    /// The tag of a file or of a block does not belong to its bytes.
    case notAuthentic
    /// A file that ends before its tag does.
    case tooShort
    /// A read of a CryptoFile whose tag nobody has checked yet.
    case notVerified
    /// The text is not the JSON of a CryptoFile's arguments.
    case invalidArguments
    /// The system refused to read or write; `cause` is a `SystemError`.
    case file
    /// The destination of a command exists and is no regular file.
    case notRegularFile
    /// A passphrase cannot be made a key of.
    case noMemory
    /// OpenSSL or libsodium failed at something that cannot fail with valid arguments.
    case library
}

extension CryptographyError {
    /// A system error met on the way.
    public init(_ error: SystemError) {
        self.init(.file, error.sentence, cause: error)
    }

    /// The errno when the system refused, otherwise nil: ENOSPC matters to who fills a disk.
    public var systemCode: Int32? { systemError?.code }
    public var systemError: SystemError? { cause as? SystemError }

    static var notKept: CryptographyError {
        CryptographyError(
            .notAuthentic, "The disk does not keep what is written to it: read back, it is something else.")
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
