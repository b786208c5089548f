import Base
import ChatCore
import Posix

/// The bytes of one item while somebody has it open. Shared by all readers of the item; each `open` of
/// the hydrator gives one of these and expects one `close`.
public final class HydratedFile: Sendable {
    public let file: FileID
    /// Length of the content in bytes, as the message says. Never contradicted by what is read.
    public let size: UInt64
    /// The stored copy was found changed by this opening: the kernel's pages of before must go first.
    public let wasOutdated: Bool
    private let hydrator: Hydrator

    init(hydrator: Hydrator, file: FileID, size: UInt64, wasOutdated: Bool) {
        self.hydrator = hydrator
        self.wasOutdated = wasOutdated
        self.file = file
        self.size = size
    }

    /// Answers on the calling thread when every byte is at hand: from memory and the disk's cache, never
    /// from the network. A range beyond the end is cut; `buffer` holds at least the range.
    public func read(
        _ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer
    ) -> ImmediateRead {
        let part = range.clamped(to: 0..<size)
        guard !part.isEmpty else { return .filled(0) }
        let target = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, part.count)])
        return hydrator.read(file, part.lowerBound..<part.lowerBound + UInt64(target.count), into: target)
    }

    /// Waits for the bytes and fills the buffer: at most `deadline` without a byte arriving of the chunks that
    /// hold them, and 20 times that in all (where the core fetches the whole, since it last had more of it).
    /// Cancelling gives up this reader only: `.cancelled`. The buffer must stay alive until the answer is there.
    public func read(
        _ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer, deadline: Duration
    ) async -> DeferredRead {
        let part = range.clamped(to: 0..<size)
        guard !part.isEmpty else { return .filled(0) }
        let target = ReaderMemory(bytes: buffer)
        // More than one round only when blocks of the cache turn out to be unreadable.
        for _ in 0..<4 {
            switch await hydrator.wait(for: file, .bytes(part), patience: deadline) {
            case .failed(let problem): return .failed(problem)
            case .cancelled: return .cancelled
            case .ready: break
            }
            switch await ThreadPool.shared.run({ self.read(part, into: target.bytes) }) {
            case .filled(let count): return .filled(count)
            case .ready(let ready):
                target.bytes.copyMemory(from: ready.bytes)
                return .filled(ready.bytes.count)
            case .failed(let problem): return .failed(problem)
            case .notYet: continue
            }
        }
        return .failed(FileProblem(.other, "The cache on disk does not keep what is written to it."))
    }

    /// The answer to a read has gone: makes what a sequential reader will ask for next. On the calling thread,
    /// for the time of decrypting a read; nothing where nobody reads on.
    public func prepareNext() { hydrator.wholeContent(of: file)?.prepareNext() }

    /// The content in a file of a cache that is not sealed, once all of it is there and checked; from memory,
    /// at once.
    public var wholePlainFile: OpenFile? { hydrator.wholePlainFile(of: file) }

    /// Ends this reader's interest. Fetching ahead stops with the last one, and what is under way and silent is
    /// cancelled, unless the file is kept for good.
    public func close() {
        hydrator.wholeContent(of: file)?.forgetNext()
        hydrator.close(file)
    }
}

/// Memory of the reader on its way to the thread that fills it.
private struct ReaderMemory: @unchecked Sendable {
    // Safe: the reader waits for the answer and touches it only afterwards.
    let bytes: UnsafeMutableRawBufferPointer
}

/// What a read finds at once.
public enum ImmediateRead: Sendable {
    /// So many bytes, fewer than asked only at the end of the file.
    case filled(Int)
    /// All of them, but not in the reader's memory.
    case ready(any ReadyBytes)
    case notYet
    case failed(FileProblem)
}

/// Bytes of a file that were made before somebody asked. They stay as they are for as long as this is held; then
/// their memory is used for others.
public protocol ReadyBytes: AnyObject, Sendable {
    var bytes: UnsafeRawBufferPointer { get }
}

/// What a read finds after waiting.
public enum DeferredRead: Hashable, Sendable {
    case filled(Int)
    case failed(FileProblem)
    /// The reader's task was cancelled.
    case cancelled
}
