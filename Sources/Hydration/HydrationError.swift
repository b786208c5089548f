import Base
import Cryptography
import Posix

/// The hydrator could not start, or a step of it failed.
public struct HydrationError: DescribedError {
    public enum Code: Hashable, Sendable {
        /// The cache folder cannot be used.
        case cache
        /// The file as a whole is not what its sender described.
        case damaged
        /// A stored file does not keep still while it is checked.
        case changing
    }

    public let code: Code
    public let sentence: String
    public let cause: (any Error)?

    public init(_ code: Code, _ sentence: String, cause: (any Error)? = nil) {
        self.code = code
        self.sentence = sentence
        self.cause = cause
    }

    static let diskDoesNotKeep = HydrationError(
        .cache, "The disk does not keep what is written to it: read back, it is something else.")
}
