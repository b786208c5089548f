import Base
import ChatCore
import Posix

/// An open handle of an item's file. Each `Hydrator.open` returns one and needs one `close`. Thread-safe.
public final class HydratedFile: Sendable {
    /// Length of the content in bytes, from the message. Reads never contradict it.
    public let size: UInt64
    /// True if this open found the stored copy changed. Invalidate the kernel's pages first.
    public let wasOutdated: Bool
    private let file: CachedFile

    /// More than one round is needed only if blocks become unreadable or are evicted before the read.
    private static let maxRounds = 4

    init(_ file: CachedFile, size: UInt64, wasOutdated: Bool) {
        self.file = file
        self.size = size
        self.wasOutdated = wasOutdated
    }

    /// Reads on the calling thread if the whole range is available, from memory or the disk, never from the
    /// network.
    /// - Parameters:
    ///   - range: Bytes of the content; cut at the end of the file.
    ///   - buffer: At least as long as the range.
    public func read(_ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer) -> ReadResult {
        let result = readLocal(range, into: buffer)
        file.context.reads.note(result)
        return result
    }

    private func readLocal(
        _ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer
    ) -> ReadResult {
        let part = range.clamped(to: 0..<size)
        guard !part.isEmpty else { return .filled(0) }
        let target = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, part.count)])
        return file.read(part.lowerBound..<part.lowerBound + UInt64(target.count), into: target)
    }

    /// Waits for the bytes and fills the buffer.
    /// - Parameters:
    ///   - buffer: Must stay alive until the call returns.
    ///   - timeout: Maximum time without progress of the needed chunks. The maximum in all is 20 times this, restarted by progress if the core downloads the file.
    /// - Returns: `.cancelled` if the task was cancelled; other readers continue.
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
            switch await ThreadPool.shared.run({ self.readLocal(part, into: buffer.bytes) }) {
            case .ready(let ready):
                buffer.bytes.copyMemory(from: ready.bytes)
                return .filled(ready.bytes.count)
            case .pending: continue
            case let result: return result
            }
        }
        return .failed(FileProblem(.other, "The cache disk lost data that was written to it."))
    }

    /// Reads like `read` on the calling thread, but does not count for read-ahead or for receiving the file.
    public func peek(_ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer) -> ReadResult {
        let part = range.clamped(to: 0..<size)
        guard !part.isEmpty else { return .filled(0) }
        let target = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, part.count)])
        return file.read(
            part.lowerBound..<part.lowerBound + UInt64(target.count), into: target, counts: false)
    }

    /// Waits for the first chunk like `read`. Returns `.pending` if it is available, else `.failed` or
    /// `.cancelled`.
    public func fetchBeginning(timeout: Duration) async -> ReadResult {
        switch await file.wait(for: .bytes(0..<min(1, size)), timeout: timeout) {
        case .failed(let problem): .failed(problem)
        case .cancelled: .cancelled
        case .available: .pending
        }
    }

    /// Decrypts the bytes that a sequential reader will request next, on the calling thread. Call it after
    /// the reply to a read. Does nothing for other readers.
    public func prepareNext() { file.whole?.prepareNext() }

    /// The verified complete content as a file of the plain cache; nil otherwise. No I/O.
    public var wholePlainFile: OpenFile? { file.whole?.plainFile }

    /// Closes the handle. After the last one, read-ahead stops and silent fetches are cancelled unless the
    /// file is retained.
    public func close() {
        switch file.withMachine(\.phase.content) {
        case .whole(let whole)?: whole.forgetNext()
        case .chunks(let download)?: download.store.forgetUnread()
        case nil: break
        }
        file.step { machine, now in machine.close(now: now) }
        file.context.registry.closeUnused()
    }

    /// Waits until the complete file is verified and readable.
    func waitForWhole(timeout: Duration) async -> CachedFile.WaitResult {
        await file.wait(for: .whole, timeout: timeout)
    }
}
