import Base

/// Why the configuration cannot be used.
public typealias ConfigurationError = CodedError<ConfigurationErrorCode>

public enum ConfigurationErrorCode: Hashable, Sendable {
    /// The file is no TOML.
    case syntax
    /// A key is unknown, or its value is of another type.
    case content
    /// The file cannot be read.
    case storage
    /// Other users can change the file.
    case access
}
