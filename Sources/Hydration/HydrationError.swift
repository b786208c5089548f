import Base
import Cryptography
import Posix

/// The hydrator could not start, or a step of it failed.
public typealias HydrationError = CodedError<HydrationErrorCode>

/// What a `HydrationError` says.
public enum HydrationErrorCode: Hashable, Sendable {
    /// The cache folder, or a file in it, cannot be used.
    case cache
    /// The file as a whole is not what its sender described.
    case damaged
    /// A stored file does not keep still while it is checked.
    case changing
}

extension HydrationError {
    /// What a disk said of a file of the cache.
    init(cacheFile error: SystemError) { self.init(.cache, error.sentence, cause: error) }

    static var diskDoesNotKeep: HydrationError {
        HydrationError(
            .cache, "The disk does not keep what is written to it: read back, it is something else.")
    }
}
