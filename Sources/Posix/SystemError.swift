import Base
import Glibc

/// A system call that failed: which one, its errno, and the words for a person.
public struct SystemError: DescribedError, Hashable {
    /// The errno, for example `ENOSPC`.
    public let code: Int32
    /// What was being done, in words without a file name: "write the cache".
    public let operation: String

    public init(code: Int32, operation: String) {
        self.code = code
        self.operation = operation
    }

    /// The disk is full, the user's quota of it, or the size that a file of this process may have
    /// (setrlimit(2), RLIMIT_FSIZE).
    public var isFullDisk: Bool { [ENOSPC, EDQUOT, EFBIG].contains(code) }

    public var sentence: String {
        switch code {
        case ENOSPC: "Could not \(operation): the disk is full. Free some space and try again."
        case EDQUOT: "Could not \(operation): your quota of the disk is full. Free some space and try again."
        default: "Could not \(operation): \(String(cString: strerror(code)))."
        }
    }
    public var cause: (any Error)? { nil }
}

/// Runs a system call that answers -1 on failure, again when a signal interrupted it. The one place
/// where EINTR is met.
/// - Throws: the errno of `call`, never EINTR.
@discardableResult
public func check<Result: SignedInteger>(
    _ operation: @autoclosure () -> String, _ call: () -> Result
) throws(SystemError) -> Result {
    while true {
        let result = call()
        if result != -1 { return result }
        let code = errno
        if code != EINTR { throw SystemError(code: code, operation: operation()) }
    }
}
