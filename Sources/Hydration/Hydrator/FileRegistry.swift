import Base
import ChatCore

/// The one `CachedFile` of each file that is open, retained or cached. Thread-safe. The lock is held for
/// lookups only, never with a file's lock.
final class FileRegistry: Sendable {
    private struct State {
        var files: [FileID: CachedFile] = [:]
        var isClosed = false
    }

    private let state = Lock(State(), rank: .collection)
    private let filesKeptOpen: Int

    /// - Parameter filesKeptOpen: Number of unused stored files that stay open for reading.
    init(filesKeptOpen: Int) { self.filesKeptOpen = filesKeptOpen }

    /// The current object of a file, if there is one.
    subscript(id: FileID) -> CachedFile? { state.withLock { $0.files[id] } }

    var isClosed: Bool { state.withLock(\.isClosed) }

    var all: [CachedFile] { state.withLock { Array($0.files.values) } }

    /// Calls `body` with the file's object, creating it if needed. If `body` returns false because the object was retired
    /// meanwhile, calls it again with a new one. After `close`, calls it once with a retired object.
    func withFile(
        of item: ChatItem, _ file: ChatFile, in context: HydrationContext, _ body: (CachedFile) -> Bool
    ) {
        while true {
            let (object, isClosed) = state.withLock { state in
                if let known = state.files[file.id] { return (known, false) }
                let made = CachedFile(item, file, in: context)
                if !state.isClosed { state.files[file.id] = made }
                return (made, state.isClosed)
            }
            if isClosed { object.step { machine, _ in machine.shutDown() } }
            if body(object) || isClosed { return }
            remove(object)
        }
    }

    /// Removes a retired object.
    func remove(_ file: CachedFile) {
        state.withLock { if $0.files[file.id] === file { $0.files[file.id] = nil } }
    }

    /// Evicts the least recently used cached file. Returns false if no file can be evicted. The kernel's
    /// pages stay valid.
    /// - Parameter spared: The file that needs the space.
    func evictOldest(sparing spared: CachedFile) -> Bool {
        let candidates = all.filter { $0 !== spared }.compactMap { file in
            file.withMachine { machine -> (file: CachedFile, lastUse: Duration)? in
                machine.isEvictable && machine.phase.cachedBytes > 0 ? (file, machine.lastUse) : nil
            }
        }
        // A file opened meanwhile stays.
        return candidates.sorted { $0.lastUse < $1.lastUse }.contains { $0.file.evict(invalidates: false) }
    }

    /// Evicts all evictable files and invalidates their pages.
    func evictAll() {
        for file in all.sorted(by: { $0.id < $1.id }) where file.withMachine(\.isEvictable) {
            _ = file.evict(invalidates: true)
        }
    }

    /// Closes the least recently used stored files beyond the limit, and an eighth more, so that few calls
    /// have work.
    func closeUnused() {
        guard state.withLock({ $0.files.count > filesKeptOpen }) else { return }
        let stored = all.compactMap { file in
            file.withMachine { machine -> (file: CachedFile, lastUse: Duration, isEvictable: Bool)? in
                guard case .whole(_, cached: 0) = machine.phase else { return nil }
                return (file, machine.lastUse, machine.isEvictable)
            }
        }
        let excess = stored.count - filesKeptOpen
        guard excess > 0 else { return }
        let unused = stored.filter(\.isEvictable).sorted { $0.lastUse < $1.lastUse }
        for (file, _, _) in unused.prefix(excess + filesKeptOpen / 8) { _ = file.evict(invalidates: false) }
    }

    /// Stops the registration of objects and returns the present ones.
    func close() -> [CachedFile] {
        state.withLock { state in
            state.isClosed = true
            defer { state.files = [:] }
            return Array(state.files.values)
        }
    }
}
