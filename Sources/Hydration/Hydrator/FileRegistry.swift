import Base
import ChatCore

/// The object of each file that is open, retained or has blocks in the cache: one at a time. Any thread. Its lock
/// is taken for looking up only, never together with a file's.
final class FileRegistry: Sendable {
    private struct State {
        var files: [FileID: CachedFile] = [:]
        var isClosed = false
    }

    private let state = Lock(State(), rank: .collection)
    private let filesKeptOpen: Int

    /// - Parameter filesKeptOpen: stored files that stay open for reading though nobody reads them.
    init(filesKeptOpen: Int) { self.filesKeptOpen = filesKeptOpen }

    /// The present object of a file, if there is one.
    subscript(id: FileID) -> CachedFile? { state.withLock { $0.files[id] } }

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

    /// A retired object goes.
    func remove(_ file: CachedFile) {
        state.withLock { if $0.files[file.id] === file { $0.files[file.id] = nil } }
    }

    /// Takes the file that was used longest ago from the cache, among those that have bytes there; false when
    /// nothing may go. Pages of the kernel stay: what they hold is right.
    /// - Parameter spared: the file that needs the capacity.
    func evictOldest(sparing spared: CachedFile) -> Bool {
        let candidates = all.filter { $0 !== spared }.compactMap { file in
            file.withMachine { machine -> (file: CachedFile, lastUse: Duration)? in
                machine.isEvictable && machine.phase.cachedBytes > 0 ? (file, machine.lastUse) : nil
            }
        }
        // One that somebody has opened meanwhile stays.
        return candidates.sorted { $0.lastUse < $1.lastUse }.contains { $0.file.evict(invalidates: false) }
    }

    /// Takes everything from the cache that may go.
    func evictAll() {
        for file in all.sorted(by: { $0.id < $1.id }) where file.withMachine(\.isEvictable) {
            _ = file.evict(invalidates: true)
        }
    }

    /// Closes stored files beyond the number that is kept open, unused ones first, and some more, so that they
    /// need not be looked for at every close.
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

    /// No file gets an object from now on. Answers those that had one.
    func close() -> [CachedFile] {
        state.withLock { state in
            state.isClosed = true
            defer { state.files = [:] }
            return Array(state.files.values)
        }
    }
}
