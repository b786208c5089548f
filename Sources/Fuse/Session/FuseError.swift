import Base

/// An error of mounting or unmounting.
public typealias FuseError = CodedError<FuseErrorCode>

/// The kinds of `FuseError`.
public enum FuseErrorCode: Hashable, Sendable {
    /// The mountpoint is missing, not a directory, not empty or owned by another user.
    case mountpoint
    /// Another filesystem is mounted there.
    case alreadyMounted
    /// Refused by the kernel or fusermount3.
    case refused
    /// Files on the mount are open.
    case busy
}
