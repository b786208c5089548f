import ChatCore
import Posix

/// What users ask for by command: `chatfs hydrate`, `dehydrate`, `pin`, `unpin`, `cache`.
extension Hydrator {
    /// What the cache holds at this moment.
    public struct CacheReport: Hashable, Sendable {
        public var mode: CacheMode
        /// Bytes on the disk: in the cache, and of files that are on their way into the core's keeping.
        public var bytesOnDisk: UInt64
        /// nil: without a limit.
        public var limit: UInt64?
        /// Bytes of the disk that stay free.
        public var minimumFree: UInt64
        /// Bytes that are free there now.
        public var free: UInt64
        /// Files of which something is at hand.
        public var files: Int
        public var pinned: Int
    }

    /// Brings all of a file here and waits for it: received for good, checked, ready to be read. The
    /// problem when that cannot be; nil when it is done.
    /// - Parameter patience: the longest wait without any progress.
    public func hydrate(_ item: ChatItem, patience: Duration = .seconds(60)) async -> FileProblem? {
        guard let file = item.file else { return nil }
        let opened = open(item)
        defer { opened.close() }
        switch await wait(for: file.id, .whole, patience: patience) {
        case .ready: return nil
        case .failed(let problem): return problem
        case .cancelled: return .leaving
        }
    }

    /// Back to what the core has: the decrypted blocks go, from the kernel too. False while somebody has the
    /// file open, or it is pinned.
    public func dehydrate(_ file: FileID) -> Bool {
        var isDone = false
        transact { machine, _ in
            let actions = machine.dehydrate(file)
            isDone = actions != nil
            return actions ?? []
        }
        return isDone
    }

    /// Keeps a file whole and out of the reach of eviction, over mounts too, until it is unpinned. It is
    /// received without anybody waiting if it has to be; what fails for a while is tried again.
    public func pin(_ item: ChatItem) async throws(HydrationError) {
        guard let file = item.file else { return }
        try await wishes?.pin(file.id, true)
        transact { machine, now in machine.pin(item, file, now: now) }
    }

    /// The file may be evicted again. What is at hand stays for now; nothing more is received for the pin.
    public func unpin(_ file: FileID) async throws(HydrationError) {
        try await wishes?.pin(file, false)
        transact { machine, now in machine.unpin(file, now: now) }
    }

    public func isPinned(_ file: FileID) -> Bool { withMachine { $0.pinned.contains(file) } }

    /// All pinned files, also those that nobody has touched in this mount.
    public var pinnedFiles: Set<FileID> { withMachine { $0.pinned } }

    /// What is to be received without anybody reading it, since this mount or an earlier one.
    public var wishedFiles: Set<FileID> { withMachine { $0.pinned.union($0.unfinished) } }

    /// Goes on with a file that an earlier mount left pinned or unfinished.
    public func resume(_ item: ChatItem) {
        guard let file = item.file, wishedFiles.contains(file.id) else { return }
        transact { machine, now in machine.resume(item, file, now: now) }
    }

    /// Files that come in a moment are never noted; of a mount that is killed, only what was read in its last
    /// moment is forgotten.
    private static let noteDelay = Duration.milliseconds(500)

    func noteUnfinished() {
        let begins = shared.withLock { shared in
            defer { shared.isNoting = true }
            return !shared.isNoting
        }
        guard begins, let wishes else { return }
        spawn { hydrator in
            // Leaving cancels this, and then waits for it.
            try? await Task.sleep(for: Self.noteDelay)
            hydrator.shared.withLock { $0.isNoting = false }
            do throws(HydrationError) {
                try await wishes.noteUnfinished { hydrator.withMachine { $0.unfinished } }
            } catch {
                hydrator.log.warning(
                    "what is unfinished is not remembered for the next mount: \(error.sentence)")
            }
        }
    }

    /// Tries at once what waits for another try: something has changed, such as which relays are approved.
    public func tryAgain() {
        transact { machine, now in machine.tryAgain(now: now) }
    }

    /// Empties the cache but for what is open or pinned.
    public func clearCache() {
        transact { machine, _ in machine.clear() }
    }

    /// From memory, but for one call to the disk.
    public func cacheReport() -> CacheReport {
        let now = now
        let (files, pinned) = withMachine { machine in
            (
                machine.entries.keys.count { machine.condition(of: $0, now: now).stage != .idle },
                machine.pinned.count
            )
        }
        return CacheReport(
            mode: settings.cacheMode, bytesOnDisk: cache.usage.total, limit: settings.cacheLimit,
            minimumFree: settings.minimumFree, free: cache.freeBytes() ?? 0, files: files, pinned: pinned)
    }
}
