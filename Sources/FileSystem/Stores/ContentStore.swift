import Base
import ChatCore
import Hydration
import Posix

/// The bytes of items: the hydrator, or memory in tests. Only `OpenContent.read` waits.
public protocol ContentStore: Sendable {
    /// Opens an item. All openings share one content; each needs one `close`.
    func content(of item: ChatItem) -> any OpenContent
    /// Updates the status and source of an item from the core.
    func update(_ item: ChatItem)
    /// Updates the progress of a core's transfer, without a change of status.
    func advance(_ progress: FileProgress)
    /// Records that the item is deleted. Open handles keep local bytes; nothing more is fetched. With `atOnce`, they
    /// keep nothing and the disk space is freed.
    func remove(_ file: FileID, atOnce: Bool)
    func condition(of file: FileID) -> HydrationCondition
    /// Returns true if the file is pinned to this machine.
    func isPinned(_ file: FileID) -> Bool
    /// Returns items with local state beyond the core's: open, retained or cached.
    func present() -> [ChatItem]
    func changes() -> AsyncStream<HydrationChange>
}

/// The bytes of an open item.
public protocol OpenContent: Sendable {
    /// Reads on the calling thread if all bytes are local.
    func read(_ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer) -> ReadResult
    /// Waits for the bytes, at most `timeout` without progress. Cancelling the task ends the wait.
    func read(_ range: Range<UInt64>, into buffer: ReadBuffer, timeout: Duration) async -> ReadResult
    /// Reads local bytes on the calling thread without counting as a read, so nothing is fetched.
    func peek(_ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer) -> ReadResult
    /// Waits for the first chunk, as `read` waits, and fetches no other. Returns `.pending` then.
    func fetchBeginning(timeout: Duration) async -> ReadResult
    /// Called on the same thread after a read was answered there. Prepares a sequential reader's next bytes, in at most
    /// the time of a read.
    func prepareNext()
    /// A complete and verified file of the content, for any program that may read it; nil if there is none. Eviction
    /// does not invalidate the descriptor.
    var wholePlainFile: OpenFile? { get }
    /// True if pages read through earlier openings may differ from this one's.
    var wasOutdated: Bool { get }
    func close()
}

extension Hydrator: ContentStore {
    public func content(of item: ChatItem) -> any OpenContent { open(item) }
}

extension HydratedFile: OpenContent {}
