import Base

/// An error of reading or storing rules.
public typealias KeepingError = CodedError<KeepingErrorCode>

public enum KeepingErrorCode: Hashable, Sendable {
    /// An error of the disk, or a damaged or newer database.
    case storage
}
