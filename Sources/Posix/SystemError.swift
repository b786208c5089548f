import Base
import Glibc

/// A failed system call: the operation, the errno, and a sentence for the user.
public struct SystemError: DescribedError, Hashable {
    /// The errno, for example `ENOSPC`.
    public let code: Int32
    /// The operation in words without a file name: "write the cache".
    public let operation: String

    public init(code: Int32, operation: String) {
        self.code = code
        self.operation = operation
    }

    /// The disk or the user's quota is full, or the file has its maximum size (setrlimit(2), RLIMIT_FSIZE).
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

/// Runs a system call that returns -1 on failure, and repeats it after a signal. The only place that handles EINTR.
/// - Throws: The errno of `call`, never EINTR.
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
