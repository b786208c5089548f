import ChatCore

/// Stores chunks of one file: on the disk, or in memory without space. Runs on `ChunkStore.threads`.
struct ChunkStorage: Sendable {
    private let file: CachedFile
    private let download: Download
    private let context: HydrationContext
    private var store: ChunkStore { download.store }

    init(of file: CachedFile, _ download: Download) {
        self.file = file
        self.download = download
        context = file.context
    }

    /// Stores an arrived chunk, and others that are only in memory if the whole file is wanted.
    /// - Parameter isHere: If true, the disk has it already.
    func store(_ fetched: any FetchedChunk, _ chunk: Int, isHere: Bool) {
        if !write(fetched, chunk, isHere: isHere) { keepInMemory(fetched, chunk) }
        // Checked after the chunk has its place: the file may be wanted since.
        storeRest()
    }

    /// Writes chunks that are only in memory if the whole file is wanted.
    func storeRest() {
        guard store.form.isKept, isWanted else { return }
        for (chunk, fetched) in store.chunksInMemory {
            guard write(fetched, chunk) else { return }
        }
    }

    private var isWanted: Bool { file.withMachine { $0.wantsStorage(download) } }

    /// Evicts old files for the chunk. Returns false if there is no space.
    private func write(_ fetched: any FetchedChunk, _ chunk: Int, isHere: Bool = false) -> Bool {
        guard let disk = store.file, file.withMachine({ !$0.hasFailedToStore(download) }) else {
            return false
        }
        let hasCapacity =
            isHere
            || context.cache.usesDisk
                && context.reserveCapacity(UInt64(fetched.bytes.count), on: disk, for: file)
        guard hasCapacity || store.form.isKept && isWanted else { return false }
        do {
            let isHeld = try store.write(
                fetched, chunk, isAwaited: { number in file.withMachine { $0.awaits(number) } },
                isHere: isHere)
            if isHeld {
                file.step { $0.stored(download, chunk, now: $1) }
            }
            return true
        } catch {
            if store.form.isKept {
                FileCompletion(of: file, download).fail(error)
            } else {
                context.failures.log.notice("chunk kept in memory: error=\(error.sentence)")
            }
            return false
        }
    }

    private func keepInMemory(_ fetched: any FetchedChunk, _ chunk: Int) {
        let evicted = store.keepInMemory(fetched, chunk)
        if !evicted.isEmpty { tell(of: evicted) }
        if !store.form.isKept { file.step { $0.stored(download, chunk, now: $1) } }
    }

    /// Reports chunks of any file that were evicted from memory.
    private func tell(of evicted: [ChunkMemory.Key]) {
        for file in context.registry.all {
            guard case .chunks(let download) = file.withMachine(\.phase.content) else { continue }
            let store = download.store
            let lost = evicted.filter { $0.store == store.number && !store.holds($0.chunk) }.map(\.chunk)
            if !lost.isEmpty { file.step { machine, _ in machine.lost(download, lost) } }
        }
    }
}
