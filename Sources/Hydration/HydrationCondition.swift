import Base
import ChatCore

/// How far the bytes of one file are on this machine, beyond what the core knows.
public struct HydrationCondition: Hashable, Sendable {
    public enum Stage: Hashable, Sendable {
        /// Nothing is being done about it, though a part may be at hand.
        case idle
        /// Chunks are being fetched or stored, the core receives it, or its stored copy is being verified.
        case receiving
        /// Every byte is at hand: in the cache, or in the core's copy, which was verified.
        case complete
    }

    public var stage: Stage
    /// Per cent of the bytes that are at hand.
    public var progress: Int
    /// What stands in the way at present, or what went wrong for good.
    public var problem: FileProblem?
    /// When what failed is tried again without a reader, from now on; nil when it is being tried, or waits for
    /// one.
    public var nextTry: Duration?
    /// Decrypted bytes in the cache.
    public var cached: UInt64
    /// The whole is served from the core's copy, or the core keeps one too.
    public var isStored: Bool

    /// All of it is decrypted in the cache.
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

/// What the hydrator tells without being asked.
public enum HydrationChange: Hashable, Sendable {
    /// Another stage, a problem came or went, or it was pinned or unpinned.
    case conditionChanged(FileID)
    /// Bytes that were served must not be served again: the kernel's pages of the file are to go.
    case contentInvalid(FileID)
}
