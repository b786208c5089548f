import Base

/// Why a rule cannot be kept or read, or what the system bus says cannot be understood.
public typealias KeepingError = CodedError<KeepingErrorCode>

public enum KeepingErrorCode: Hashable, Sendable {
    /// The disk, or a database that is damaged or of another version.
    case storage
    /// The bus is not there, or says something that makes no sense.
    case bus
}
