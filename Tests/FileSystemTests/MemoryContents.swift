import Base
import ChatCore
import FileSystem
import Hydration
import Posix

/// Contents controlled by the test: local bytes, bytes that never arrive, or a failure.
final class MemoryContents: ContentStore {
    enum Content: Sendable {
        /// Every byte is the low byte of its offset.
        case here
        /// Like `here`, but earlier openings read other bytes.
        case changed
        /// Arrives after one wait.
        case later
        /// Never arrives, like a file of an unresponsive relay.
        case never
        case failing(FileProblem)
        /// A first chunk of this size arrives after one wait; the rest is remote.
        case beginning(UInt64)
    }

    /// Items with cached bytes.
    let here = Lock<[ChatItem]>([], rank: .collection)
    let contents = Lock<[FileID: Content]>([:])
    let open = Lock<[FileID: Int]>([:])
    /// Removed files, and whether at once.
    let removed = Lock<[FileID: Bool]>([:])
    /// Number of fetches of each file's first chunk.
    let beginnings = Lock<[FileID: Int]>([:])
    let pinned = Lock<Set<FileID>>([])
    let conditions = Lock<[FileID: HydrationCondition]>([:])
    /// Number of requests for conditions.
    let asked = Lock(0)

    func set(_ content: Content, for item: ChatItem) {
        guard let file = item.file else { return }
        contents.withLock { $0[file.id] = content }
    }

    func content(of item: ChatItem) -> any OpenContent {
        let file = item.file?.id ?? FileID(0)
        open.withLock { $0[file, default: 0] += 1 }
        return OpenMemory(store: self, file: file, content: contents.withLock { $0[file] ?? .here })
    }

    func update(_ item: ChatItem) {}
    func advance(_ progress: FileProgress) {}
    func remove(_ file: FileID, atOnce: Bool) { removed.withLock { $0[file] = atOnce } }
    func condition(of file: FileID) -> HydrationCondition {
        asked.withLock { $0 += 1 }
        return conditions.withLock { $0[file] } ?? HydrationCondition()
    }
    func isPinned(_ file: FileID) -> Bool { pinned.withLock { $0.contains(file) } }
    func present() -> [ChatItem] { here.withLock { $0 } }
    func changes() -> AsyncStream<HydrationChange> { AsyncStream { $0.finish() } }

    private struct OpenMemory: OpenContent {
        let store: MemoryContents
        let file: FileID
        let content: Content

        func read(_ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer) -> ReadResult {
            switch content {
            case .here, .changed:
                for (index, position) in range.enumerated() {
                    buffer[index] = UInt8(truncatingIfNeeded: position)
                }
                return .filled(range.count)
            case .failing(let problem): return .failed(problem)
            case .later, .never, .beginning: return .pending
            }
        }

        func peek(_ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer) -> ReadResult {
            guard case .beginning(let size) = content else { return read(range, into: buffer) }
            guard range.upperBound <= size, store.beginnings.withLock({ $0[file] }) != nil else {
                return .pending
            }
            for (index, position) in range.enumerated() {
                buffer[index] = UInt8(truncatingIfNeeded: position)
            }
            return .filled(range.count)
        }

        func fetchBeginning(timeout: Duration) async -> ReadResult {
            if case .failing(let problem) = content { return .failed(problem) }
            store.beginnings.withLock { $0[file, default: 0] += 1 }
            return .pending
        }

        func prepareNext() {}

        func read(_ range: Range<UInt64>, into buffer: ReadBuffer, timeout: Duration) async -> ReadResult {
            if case .failing(let problem) = content { return .failed(problem) }
            if case .never = content {
                do {
                    try await Task.sleep(for: timeout)
                    return .failed(FileProblem(.timedOut, "No answer yet; still trying."))
                } catch {
                    return .cancelled
                }
            }
            for (index, position) in range.enumerated() {
                buffer.bytes[index] = UInt8(truncatingIfNeeded: position)
            }
            return .filled(range.count)
        }

        var wholePlainFile: OpenFile? { nil }
        var wasOutdated: Bool { if case .changed = content { true } else { false } }

        func close() { store.open.withLock { $0[file, default: 0] -= 1 } }
    }
}
