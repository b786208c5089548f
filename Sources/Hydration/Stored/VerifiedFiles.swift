import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// Identity and times of a file: the key of a stored file's block tags.
struct FileStamp: Hashable, Sendable {
    private var device: UInt
    private var inode: UInt
    private var size: Int
    private var modified: Int
    private var modifiedNanoseconds: Int
    private var changed: Int
    private var changedNanoseconds: Int

    init(_ status: stat) {
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
        size = Int(status.st_size)
        modified = status.st_mtim.tv_sec
        modifiedNanoseconds = status.st_mtim.tv_nsec
        changed = status.st_ctim.tv_sec
        changedNanoseconds = status.st_ctim.tv_nsec
    }
}

/// A file of the core as it was opened and verified.
struct StoredFile: Sendable {
    let path: String
    let stamp: FileStamp

    /// False if the file was changed, deleted or replaced. One stat(2).
    var isUnchanged: Bool {
        var status = stat()
        return stat(path, &status) == 0 && FileStamp(status) == stamp
    }
}

/// Block tags of files that this process or an earlier one verified, valid while the files are unchanged. An LRU
/// cache. Thread-safe.
final class VerifiedFiles: Sendable {
    private struct Entry {
        var tags: BlockTags
        var lastUse: UInt64
    }

    private struct State {
        var entries: [FileStamp: Entry] = [:]
        var uses: UInt64 = 0
        /// Bytes of all tags.
        var memory = 0

        mutating func remove(_ stamp: FileStamp) {
            guard let entry = entries.removeValue(forKey: stamp) else { return }
            memory -= entry.tags.memory
        }
    }

    /// Evicted files are only verified again. The tags of 32 GiB take 8 MiB.
    private static let maxFiles = 10_000
    private static let maxMemory = 8 << 20
    /// Maximum number of tries if the file changes during verification.
    private static let tries = 3

    private let state = Lock(State(), rank: .collection)
    /// nil: every process verifies each file.
    private let saved: SavedTags?

    init(_ saved: SavedTags?) { self.saved = saved }

    /// Returns a reader of a file, verified earlier or now, with its stamp.
    /// - Parameter progress: Called as the verification proceeds.
    /// - Throws: `changing` if the file changed during each try.
    func reader(
        of id: FileID, in file: OpenFile, _ arguments: FileArguments,
        progress: @escaping @Sendable () -> Void
    ) async throws -> (CryptoFileReader, FileStamp) {
        for _ in 0..<Self.tries {
            let (before, tags) = try await Verification.threads.run { () throws(any Error) in
                let status = try file.status()
                let stamp = FileStamp(status)
                if let tags = self.tags(of: stamp) { return (stamp, tags as BlockTags?) }
                let tags = self.saved?.tags(of: id, arguments, size: UInt64(status.st_size))
                if let tags { self.add(tags, of: stamp) }
                return (stamp, tags)
            }
            if let tags {
                return (try CryptoFileReader(file: file, arguments: arguments, tags: tags), before)
            }
            let reader = try CryptoFileReader(file: file, arguments: arguments)
            try await Verification.run(reader, progress: progress)
            guard let tags = reader.tags else { continue }
            let after = try await Verification.threads.run { () throws(any Error) in
                let status = try file.status()
                let stamp = FileStamp(status)
                if stamp == before { self.keep(tags, of: id, arguments, status) }
                return stamp
            }
            if after == before { return (reader, after) }
        }
        throw HydrationError(
            .changing, "Another program changes the stored file while ChatFS verifies it; read again.")
    }

    private func tags(of stamp: FileStamp) -> BlockTags? {
        state.withLock { state in
            state.uses += 1
            state.entries[stamp]?.lastUse = state.uses
            return state.entries[stamp]?.tags
        }
    }

    /// Keeps the tags of a file that this process verified, or wrote and read back; also for later processes. Blocks
    /// on disk I/O.
    func keep(_ tags: BlockTags, of id: FileID, _ arguments: FileArguments, _ status: stat) {
        add(tags, of: FileStamp(status))
        saved?.save(tags, of: id, arguments, size: UInt64(status.st_size))
    }

    private func add(_ tags: BlockTags, of stamp: FileStamp) {
        state.withLock { state in
            state.remove(stamp)
            state.uses += 1
            state.entries[stamp] = Entry(tags: tags, lastUse: state.uses)
            state.memory += tags.memory
            while state.entries.count > 1, Self.isTooMuch(state),
                let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })
            {
                state.remove(oldest.key)
            }
        }
    }

    private static func isTooMuch(_ state: State) -> Bool {
        state.entries.count > maxFiles || state.memory > maxMemory
    }

    /// Forgets a file that failed authentication later. Blocks on disk I/O.
    func forget(_ id: FileID, _ stamp: FileStamp) {
        state.withLock { $0.remove(stamp) }
        saved?.remove(id)
    }
}
