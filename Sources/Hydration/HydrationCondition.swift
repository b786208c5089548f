import Base
import ChatCore

/// How far the bytes of one file are on this machine, beyond what the core knows.
public struct HydrationCondition: Hashable, Sendable {
    public enum Stage: Hashable, Sendable {
        /// Nothing is being done about it.
        case idle
        /// Chunks are being fetched, or the core receives it, or its stored copy is being verified.
        case receiving
        /// Every byte is at hand.
        case hydrated
    }

    public var stage: Stage
    /// Per cent, 100 when hydrated.
    public var progress: Int
    /// What stands in the way at present, or what went wrong for good.
    public var problem: FileProblem?
    /// When what failed is tried again without a reader, from now on; nil when it is being tried, or waits for
    /// one.
    public var nextTry: Duration?
    /// Bytes of sealed blocks in the cache.
    public var cached: UInt64

    public init(
        stage: Stage = .idle, progress: Int = 0, problem: FileProblem? = nil,
        nextTry: Duration? = nil, cached: UInt64 = 0
    ) {
        self.stage = stage
        self.progress = progress
        self.problem = problem
        self.nextTry = nextTry
        self.cached = cached
    }
}

/// What the hydrator tells without being asked.
public enum HydrationChange: Hashable, Sendable {
    /// Another stage, a problem came or went, or it was pinned or unpinned.
    case conditionChanged(FileID)
    /// Bytes that were served must not be served again: the kernel's pages of the file are to go.
    case contentInvalid(FileID)
}
