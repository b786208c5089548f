import Base

/// A mount that could not be made or ended.
public typealias FuseError = CodedError<FuseErrorCode>

/// What a `FuseError` says.
public enum FuseErrorCode: Hashable, Sendable {
    /// The mountpoint is missing, no folder, not empty, or not ours.
    case mountpoint
    /// Something is mounted there already.
    case alreadyMounted
    /// The kernel or fusermount3 refused.
    case refused
    /// Files on the mount are open.
    case busy
}
