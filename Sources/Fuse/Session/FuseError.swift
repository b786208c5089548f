import Base

/// A mount that could not be made or ended.
public struct FuseError: DescribedError {
    public enum Code: Hashable, Sendable {
        /// The mountpoint is missing, no folder, not empty, or not ours.
        case mountpoint
        /// Something is mounted there already.
        case alreadyMounted
        /// The kernel or fusermount3 refused.
        case refused
        /// Files on the mount are open.
        case busy
    }

    public let code: Code
    public let sentence: String
    public let cause: (any Error)?

    public init(_ code: Code, _ sentence: String, cause: (any Error)? = nil) {
        self.code = code
        self.sentence = sentence
        self.cause = cause
    }
}
