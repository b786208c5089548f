import Base
import Cryptography
import Posix

/// The hydrator could not start, or a step of it failed.
public typealias HydrationError = CodedError<HydrationErrorCode>

/// What a `HydrationError` says.
public enum HydrationErrorCode: Hashable, Sendable {
    /// The cache folder cannot be used.
    case cache
    /// The file as a whole is not what its sender described.
    case damaged
    /// A stored file does not keep still while it is checked.
    case changing
}

extension HydrationError {
    static var diskDoesNotKeep: HydrationError {
        HydrationError(
            .cache, "The disk does not keep what is written to it: read back, it is something else.")
    }
}
