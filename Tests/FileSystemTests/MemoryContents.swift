import Base
import ChatCore
import FileSystem
import Hydration
import Posix

/// Contents that the test decides: bytes that are here, bytes that never come, or a failure.
final class MemoryContents: ContentStore {
    enum Content: Sendable {
        /// Every byte is the low byte of its position.
        case here
        /// As `here`; what was read before this opening was something else.
        case changed
        /// Comes after one wait.
        case later
        /// Waits for ever, as behind a relay that never answers.
        case never
        case failing(FileProblem)
        /// So many bytes of it are its first chunk, which comes after one wait; the others are not here.
        case beginning(UInt64)
    }

    /// Items of which something is in the cache.
    let here = Lock<[ChatItem]>([], rank: .collection)
    let contents = Lock<[FileID: Content]>([:])
    let open = Lock<[FileID: Int]>([:])
    /// What was removed, and whether at once.
    let removed = Lock<[FileID: Bool]>([:])
    /// How often the first chunk of a file was fetched.
    let beginnings = Lock<[FileID: Int]>([:])
    let pinned = Lock<Set<FileID>>([])
    /// How often the condition of a file was asked for.
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
        return HydrationCondition()
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
