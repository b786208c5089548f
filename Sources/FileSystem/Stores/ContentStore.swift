import Base
import ChatCore
import Hydration
import Posix

/// Where the bytes of items come from: the hydrator, or memory in tests. Nothing here waits, except
/// `OpenContent.read`.
public protocol ContentStore: Sendable {
    /// The same content for everyone who has the item open; one `close` for each.
    func content(of item: ChatItem) -> any OpenContent
    /// What the core said about an item: new status, new source.
    func update(_ item: ChatItem)
    /// How far the core is with a file: numbers, never another status.
    func advance(_ progress: FileProgress)
    /// The item is deleted: open readers keep what is here, nothing more is fetched. `atOnce`: they keep
    /// nothing, and its place on the disk is free.
    func remove(_ file: FileID, atOnce: Bool)
    func condition(of file: FileID) -> HydrationCondition
    /// Whether the user wants it kept here.
    func isPinned(_ file: FileID) -> Bool
    /// Items of which something is here beyond what the core has: open, retained, or in the cache.
    func present() -> [ChatItem]
    func changes() -> AsyncStream<HydrationChange>
}

/// The bytes of one item, while somebody has it open.
public protocol OpenContent: Sendable {
    /// Answers on the calling thread when every byte is at hand.
    func read(_ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer) -> ReadResult
    /// Waits for the bytes, at most `timeout` without progress; ends early when its task is cancelled.
    func read(_ range: Range<UInt64>, into buffer: ReadBuffer, timeout: Duration) async -> ReadResult
    /// As `read` on the calling thread, without counting as one: nothing is fetched because of it.
    func peek(_ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer) -> ReadResult
    /// Waits until the first chunk is here, as `read` waits, and fetches no other: `.pending` then.
    func fetchBeginning(timeout: Duration) async -> ReadResult
    /// Called on the same thread after a read was answered there: time to make what a sequential reader will
    /// ask for next. As short as a read.
    func prepareNext()
    /// A file with exactly the bytes of the content, complete and checked, that anybody who may read the
    /// content may read; nil when there is none. The file may leave the cache afterwards, its bytes stay for
    /// who holds it.
    var wholePlainFile: OpenFile? { get }
    /// What was read through earlier openings may be other bytes than those of this one.
    var wasOutdated: Bool { get }
    func close()
}

extension Hydrator: ContentStore {
    public func content(of item: ChatItem) -> any OpenContent { open(item) }
}

extension HydratedFile: OpenContent {}
