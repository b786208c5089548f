import Base

/// Why a rule cannot be kept or read.
public typealias KeepingError = CodedError<KeepingErrorCode>

public enum KeepingErrorCode: Hashable, Sendable {
    /// The disk, or a database that is damaged or of another version.
    case storage
}
