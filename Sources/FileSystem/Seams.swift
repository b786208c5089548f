import Base
import ChatCore

/// Where the bytes of items come from. In the program the hydrator; in tests memory.
public protocol ContentStore: Sendable {
    /// Never waits and does no I/O; the same content for everyone who has the item open.
    func open(_ item: ChatItem) -> any OpenContent
    /// What the core said about an item: new status, new source.
    func update(_ item: ChatItem)
    /// The item is deleted: open readers keep what they have, nothing more is fetched.
    func remove(_ file: FileID)
    func condition(of file: FileID) -> ContentCondition
}

/// The bytes of one item, while somebody has it open.
public protocol OpenContent: Sendable {
    /// Answers on the calling thread when every byte is at hand.
    func readNow(_ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer) -> ContentRead
    /// Waits for the bytes, at most `deadline` without progress. Cancelled: `.failed(nil)`.
    func read(
        _ range: Range<UInt64>, into buffer: ReadBuffer, deadline: Duration
    ) async -> ContentRead
    func close()
}

public enum ContentRead: Sendable {
    case filled(Int)
    /// Only from `readNow`: not everything is here yet.
    case notYet
    /// nil when the reader gave up.
    case failed(FileProblem?)
}

/// How far the content of a file is on this machine, beyond what the core knows.
public struct ContentCondition: Hashable, Sendable {
    public enum Stage: Hashable, Sendable {
        /// Nothing is being done about it here.
        case idle
        case receiving
        case hydrated
    }

    public var stage: Stage
    /// Per cent, of what is being received.
    public var progress: Int
    public var problem: FileProblem?
    /// Bytes of decrypted blocks in the cache.
    public var cached: UInt64

    public init(stage: Stage = .idle, progress: Int = 0, problem: FileProblem? = nil, cached: UInt64 = 0) {
        self.stage = stage
        self.progress = progress
        self.problem = problem
        self.cached = cached
    }
}

/// Where files wait that are being written or sent. In the program the outbox; in tests memory.
/// Everything here may touch the disk: none of it belongs on the cooperative pool.
public protocol DraftStore: Sendable {
    func drafts() -> [any DraftFile]
    /// A new empty draft, open for writing once.
    func create(name: [UInt8], in chat: ChatReference) throws -> any DraftFile
    func rename(_ draft: any DraftFile, to name: [UInt8]) throws
    /// Drops a draft; a queued one is not sent any more.
    func remove(_ draft: any DraftFile) throws
}

/// One file that is being written, or that waits to be sent.
public protocol DraftFile: AnyObject, Sendable {
    /// Unique in the profile, kept across mounts, never used again.
    var number: Int64 { get }
    var chat: ChatReference { get }
    var nameBytes: [UInt8] { get }
    /// From memory, at once.
    var condition: DraftCondition { get }

    /// Counts one more handle. For writing, a queued draft becomes a draft again, or it throws.
    func open(forWriting: Bool) throws
    func close(forWriting: Bool)
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws
    func truncate(to size: UInt64) throws
    func synchronise() throws
    func setModified(_ time: Timestamp) throws
    func setCaption(_ text: String) throws
}

/// A draft at one moment.
public struct DraftCondition: Hashable, Sendable {
    public enum State: String, Hashable, Sendable {
        case draft
        case queued
        case sending
        case sent
        /// Cannot be known whether the core has it.
        case unsure
        case failed
        /// Left unfinished by an earlier mount; never sent.
        case recovered
    }

    public var state: State
    public var size: UInt64
    public var modified: Timestamp
    public var caption: String
    /// Why it is not sent: a temporary name, an empty file, or what went wrong.
    public var note: String?

    public init(
        state: State, size: UInt64, modified: Timestamp, caption: String = "", note: String? = nil
    ) {
        self.state = state
        self.size = size
        self.modified = modified
        self.caption = caption
        self.note = note
    }
}
