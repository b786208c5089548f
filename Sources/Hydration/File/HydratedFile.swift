import Base
import ChatCore
import Posix

/// One opening of an item: holds the object of its file. Each `open` of the hydrator gives one of these and
/// expects one `close`. Any thread.
public final class HydratedFile: Sendable {
    /// Length of the content in bytes, as the message says. Never contradicted by what is read.
    public let size: UInt64
    /// The stored copy was found changed by this opening: the kernel's pages of before must go first.
    public let wasOutdated: Bool
    private let file: CachedFile

    /// More rounds than one only when blocks are found unreadable, or go for those of others before their
    /// reader has them.
    private static let maxRounds = 4

    init(_ file: CachedFile, size: UInt64, wasOutdated: Bool) {
        self.file = file
        self.size = size
        self.wasOutdated = wasOutdated
    }

    /// Answers on the calling thread when every byte is available: from memory and the disk's cache, never
    /// from the network. A range beyond the end is cut; `buffer` holds at least the range.
    public func read(_ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer) -> ReadResult {
        let part = range.clamped(to: 0..<size)
        guard !part.isEmpty else { return .filled(0) }
        let target = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, part.count)])
        return file.read(part.lowerBound..<part.lowerBound + UInt64(target.count), into: target)
    }

    /// Waits for the bytes and fills the buffer: at most `timeout` without a byte arriving of the chunks that
    /// hold them, and 20 times that in all (where the core fetches the whole, since it last had more of it).
    /// Cancelling gives up this reader only: `.cancelled`. The buffer must stay alive until the answer is there.
    public func read(
        _ range: Range<UInt64>, into buffer: ReadBuffer, timeout: Duration
    ) async -> ReadResult {
        let part = range.clamped(to: 0..<size)
        guard !part.isEmpty else { return .filled(0) }
        for _ in 0..<Self.maxRounds {
            switch await file.wait(for: .bytes(part), timeout: timeout) {
            case .failed(let problem): return .failed(problem)
            case .cancelled: return .cancelled
            case .available: break
            }
            switch await ThreadPool.shared.run({ self.read(part, into: buffer.bytes) }) {
            case .ready(let ready):
                buffer.bytes.copyMemory(from: ready.bytes)
                return .filled(ready.bytes.count)
            case .pending: continue
            case let result: return result
            }
        }
        return .failed(FileProblem(.other, "The cache on disk does not keep what is written to it."))
    }

    /// As `read` on the calling thread, for somebody for whom nothing is fetched: not even because he reads on.
    public func peek(_ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer) -> ReadResult {
        let part = range.clamped(to: 0..<size)
        guard !part.isEmpty else { return .filled(0) }
        let target = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, part.count)])
        return file.read(
            part.lowerBound..<part.lowerBound + UInt64(target.count), into: target, counts: false)
    }

    /// Waits until the first chunk is here, as `read` waits: `.pending` then, `.failed` or `.cancelled` without it.
    public func fetchBeginning(timeout: Duration) async -> ReadResult {
        switch await file.wait(for: .bytes(0..<min(1, size)), timeout: timeout) {
        case .failed(let problem): .failed(problem)
        case .cancelled: .cancelled
        case .available: .pending
        }
    }

    /// The answer to a read has gone: makes what a sequential reader will ask for next. On the calling thread,
    /// for the time of decrypting a read; nothing where nobody reads on.
    public func prepareNext() { file.whole?.prepareNext() }

    /// The content in a file of a cache that is not sealed, once all of it is there and checked; from memory,
    /// at once.
    public var wholePlainFile: OpenFile? { file.whole?.plainFile }

    /// Ends this reader's interest. Fetching ahead stops with the last one, and what is under way and silent is
    /// cancelled, unless the file is retained.
    public func close() {
        file.whole?.forgetNext()
        file.step { machine, now in machine.close(now: now) }
        file.context.registry.closeUnused()
    }

    /// Waits until all of the file is here, checked, ready to be read.
    func waitForWhole(timeout: Duration) async -> CachedFile.WaitResult {
        await file.wait(for: .whole, timeout: timeout)
    }
}
