import ChatCore

/// Operations of the commands `hydrate`, `dehydrate`, `pin`, `unpin` and `cache`.
extension Hydrator {
    /// Current contents of the cache.
    public struct CacheReport: Hashable, Sendable {
        public var mode: CacheMode
        /// Bytes on the disk: partly received files and plain copies.
        public var bytesOnDisk: UInt64
        /// Limit in bytes; nil means none.
        public var limit: UInt64?
        /// Free bytes on the disk that the cache leaves.
        public var minimumFree: UInt64
        /// Free bytes on the disk now.
        public var free: UInt64
        /// Number of files with such bytes.
        public var files: Int
        public var pinned: Int
    }

    /// Hydrates a file completely and waits until it is verified and readable. Returns the problem on
    /// failure.
    /// - Parameter timeout: Maximum time without progress.
    public func hydrate(_ item: ChatItem, timeout: Duration = .seconds(60)) async -> FileProblem? {
        if item.file == nil { return nil }
        let opened = open(item)
        defer { opened.close() }
        switch await opened.waitForWhole(timeout: timeout) {
        case .available: return nil
        case .failed(let problem): return problem
        case .cancelled: return .leaving
        }
    }

    /// Drops received chunks or the plain copy of a file and invalidates the kernel's pages. Returns false if the file is
    /// open or pinned.
    public func dehydrate(_ file: FileID) -> Bool {
        if let known = context.registry[file] { return known.evict(invalidates: true) }
        guard !isPinned(file) else { return false }
        context.dropUnused(file)
        return true
    }

    /// Dehydrates a file, waiting at most 5 s for unwanted operations such as a query of the core or storage.
    /// Waits 1 s for an open file, because close(2) returns before the kernel reports the release.
    public func dehydrateWhenSettled(_ file: FileID) async -> Bool {
        let (end, closed) = (ContinuousClock.now + .seconds(5), ContinuousClock.now + .seconds(1))
        while !dehydrate(file) {
            let isSettling = context.registry[file]?.withMachine { $0.isSettling } ?? !isPinned(file)
            let now = ContinuousClock.now
            guard isSettling && now < end || now < closed, !Task.isCancelled else { return false }
            // If cancelled, the loop ends at its condition.
            try? await Task.sleep(for: .milliseconds(20))
        }
        return true
    }

    /// Cancels receiving a file, for waiting readers too, and drops its partial content. The file must not be
    /// pinned. Waits at most 5 s for running work.
    /// - Returns: False if the file is complete.
    public func cancel(_ file: FileID) async -> Bool {
        let end = ContinuousClock.now + .seconds(5)
        while let object = context.registry[file] {
            var isDone = false
            object.step { machine, now in
                let effects = machine.cancel(now: now)
                isDone = effects != nil
                return effects ?? []
            }
            if isDone { break }
            guard object.condition.stage != .complete, !Task.isCancelled, ContinuousClock.now < end else {
                return false
            }
            // If cancelled, the loop ends at its condition.
            try? await Task.sleep(for: .milliseconds(20))
        }
        context.dropUnused(file)
        return true
    }

    /// Pins a file, over mounts, until it is unpinned. A pinned file is received completely, with retries,
    /// and never evicted.
    /// - Throws: `cache` if the pin cannot be stored.
    public func pin(_ item: ChatItem) async throws(HydrationError) {
        guard let file = item.file else { return }
        try await context.retention.setPinned(file.id, true)
        resume(item, file, isPinned: true)
        context.changes.send(.conditionChanged(file.id))
    }

    /// Unpins a file. Available bytes stay until eviction; a download for the pin ends.
    /// - Throws: `cache` if the change cannot be stored.
    public func unpin(_ file: FileID) async throws(HydrationError) {
        try await context.retention.setPinned(file, false)
        context.registry[file]?.step { machine, _ in machine.setPinned(false) }
        context.changes.send(.conditionChanged(file))
    }

    public func isPinned(_ file: FileID) -> Bool { context.retention.of(file).contains(.pinned) }

    /// All pinned files, including those not used in this mount.
    public var pinnedFiles: Set<FileID> { context.retention.pinned }

    /// All files of earlier mounts: pinned, unfinished, partly here, or with saved block tags.
    public var filesOfEarlierMounts: Set<FileID> {
        context.retention.pinned.union(context.retention.unfinished).union(context.cache.partial.unusedFiles)
            .union(context.cache.savedTags?.filesOfEarlierMounts ?? [])
    }

    /// Continues a file that an earlier mount left pinned or unfinished. Drops the part of one that cannot arrive any
    /// more, and the block tags of one without a stored copy.
    public func resume(_ item: ChatItem) {
        guard let file = item.file else { return }
        if !file.status.isReadable { context.dropTags(file.id) }
        if file.status.isReadable || file.status.problem?.isFinal == true { context.dropUnused(file.id) }
        context.note(item, of: file.id)
        guard !context.retention.of(file.id).isEmpty else { return }
        resume(item, file, isPinned: false)
    }

    private func resume(_ item: ChatItem, _ file: ChatFile, isPinned: Bool) {
        context.registry.withFile(of: item, file, in: context) { object in
            var isRetired = false
            object.step { machine, now in
                isRetired = machine.isRetired
                return (isPinned ? machine.setPinned(true) : []) + machine.resume(item, now: now)
            }
            return !isRetired
        }
    }

    /// Receives a file completely without a reader, after chunks for readers, until it is complete, failed
    /// permanently or `stopKeeping` is called. Temporary failures are retried; `condition(of:)` gives the
    /// reason for a delay. Not stored for the next mount.
    public func keep(_ item: ChatItem) {
        guard let file = item.file else { return }
        context.registry.withFile(of: item, file, in: context) { object in
            var isUsable = false
            object.step { machine, now in
                let effects = machine.keep(item, now: now)
                isUsable = effects != nil
                return effects ?? []
            }
            return isUsable
        }
    }

    /// Ends receiving that only `keep` requested. Readers and pins are unaffected.
    public func stopKeeping(_ file: FileID) {
        context.registry[file]?.step { machine, _ in machine.stopKeeping() }
    }

    /// Retries failed files at once after a common change, such as approved relays.
    public func tryAgain() {
        for file in context.registry.all.sorted(by: { $0.id < $1.id }) {
            file.step { machine, _ in machine.tryAgain() }
        }
    }

    /// Evicts all files that are not open or pinned.
    public func clearCache() {
        context.registry.evictAll()
        context.cache.partial.unusedFiles.subtracting(pinnedFiles).forEach(context.dropUnused)
    }

    /// Returns the state from memory, with one system call for the free space.
    public func cacheReport() -> CacheReport {
        let (cache, settings) = (context.cache, context.settings)
        return CacheReport(
            mode: settings.cacheMode, bytesOnDisk: cache.usage.used, limit: settings.cacheLimit,
            minimumFree: settings.minimumFree, free: cache.freeBytes() ?? 0,
            files: context.registry.all.count { $0.condition.cached > 0 } + cache.partial.unusedFiles.count,
            pinned: context.retention.pinned.count)
    }
}
