import Base
import Cryptography
import Posix

/// An error of starting the hydrator or of one of its operations.
public typealias HydrationError = CodedError<HydrationErrorCode>

/// Code of a `HydrationError`.
public enum HydrationErrorCode: Hashable, Sendable {
    /// The cache folder or one of its files is unusable.
    case cache
    /// The file does not match its sender's description.
    case damaged
    /// A stored file changes while it is verified.
    case changing
}

extension HydrationError {
    /// Wraps an I/O error of a cache file.
    init(cacheFile error: SystemError) { self.init(.cache, error.sentence, cause: error) }

    static var diskDoesNotKeep: HydrationError {
        HydrationError(
            .cache, "The disk does not return the data that was written to it; check the disk.")
    }
}
