import Base
import ChatCore

/// The local state of a file's bytes, in addition to the core's status.
public struct HydrationCondition: Hashable, Sendable {
    public enum Stage: Hashable, Sendable {
        /// No work is running. Some bytes may be available.
        case idle
        /// Chunks are being fetched or stored, the core is downloading, or the stored copy is being verified.
        case receiving
        /// Every byte is available, in received chunks or a verified copy.
        case complete
    }

    public var stage: Stage
    /// Available bytes in per cent.
    public var progress: Int
    /// The current or permanent problem.
    public var problem: FileProblem?
    /// Time until a retry without a reader; nil if a try is running or needs a reader.
    public var nextTry: Duration?
    /// Bytes on this machine besides the core's copy: received chunks, or a plain copy.
    public var cached: UInt64
    /// True if the core has a copy too.
    public var isStored: Bool

    /// True if the whole file is here besides the core's copy.
    public var isHydrated: Bool { stage == .complete && cached > 0 }

    public init(
        stage: Stage = .idle, progress: Int = 0, problem: FileProblem? = nil,
        nextTry: Duration? = nil, cached: UInt64 = 0, isStored: Bool = false
    ) {
        self.stage = stage
        self.progress = progress
        self.problem = problem
        self.nextTry = nextTry
        self.cached = cached
        self.isStored = isStored
    }
}

/// A change that the hydrator reports.
public enum HydrationChange: Hashable, Sendable {
    /// The stage, the problem or the pin changed.
    case conditionChanged(FileID)
    /// Invalidate the kernel's pages of this file: its bytes must not be read again.
    case contentInvalid(FileID)
}
