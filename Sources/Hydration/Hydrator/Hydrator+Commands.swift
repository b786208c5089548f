import ChatCore

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
        /// Files of which something is decrypted in it.
        public var files: Int
        public var pinned: Int
    }

    /// Brings all of a file here and waits for it: received for good, checked, ready to be read. The
    /// problem when that cannot be; nil when it is done.
    /// - Parameter timeout: the longest wait without any progress.
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

    /// Back to what the core has: the decrypted blocks go, from the kernel too. False while somebody has the
    /// file open, or it is pinned.
    public func dehydrate(_ file: FileID) -> Bool {
        context.registry[file]?.evict(invalidates: true) ?? true
    }

    /// As `dehydrate`, but waits for work that was begun and that nobody wants any more: the core being asked, the
    /// whole being stored. Five seconds at most. An open file has a second: close(2) returns before the kernel says that
    /// the file is closed.
    public func dehydrateWhenSettled(_ file: FileID) async -> Bool {
        let (end, closed) = (ContinuousClock.now + .seconds(5), ContinuousClock.now + .seconds(1))
        while !dehydrate(file) {
            let isSettling = context.registry[file]?.withMachine { $0.isSettling } ?? true
            let now = ContinuousClock.now
            guard isSettling && now < end || now < closed, !Task.isCancelled else { return false }
            // Cancelled: the loop ends with that.
            try? await Task.sleep(for: .milliseconds(20))
        }
        return true
    }

    /// Ends what is being received of a file, also for who waits for it, and removes what is here of it; pinned it must
    /// not be. Waits for work that was begun, five seconds at most.
    /// - Returns: false for a file that is here.
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
            // Cancelled: the loop ends with that.
            try? await Task.sleep(for: .milliseconds(20))
        }
        return true
    }

    /// Keeps a file whole and out of the reach of eviction, over mounts too, until it is unpinned. It is
    /// received without anybody waiting if it has to be; what fails for a while is tried again.
    /// - Throws: `cache` when the pin cannot be made durable.
    public func pin(_ item: ChatItem) async throws(HydrationError) {
        guard let file = item.file else { return }
        try await context.retention.setPinned(file.id, true)
        resume(item, file, isPinned: true)
        context.changes.send(.conditionChanged(file.id))
    }

    /// The file may be evicted again. What is available stays for now; nothing more is received for the pin.
    /// - Throws: `cache` when that cannot be made durable.
    public func unpin(_ file: FileID) async throws(HydrationError) {
        try await context.retention.setPinned(file, false)
        context.registry[file]?.step { machine, _ in machine.setPinned(false) }
        context.changes.send(.conditionChanged(file))
    }

    public func isPinned(_ file: FileID) -> Bool { context.retention.of(file).contains(.pinned) }

    /// All pinned files, also those that nobody has touched in this mount.
    public var pinnedFiles: Set<FileID> { context.retention.pinned }

    /// What is to be received without anybody reading it, since this mount or an earlier one.
    public var retainedFiles: Set<FileID> { context.retention.pinned.union(context.retention.unfinished) }

    /// Goes on with a file that an earlier mount left pinned or unfinished.
    public func resume(_ item: ChatItem) {
        guard let file = item.file, !context.retention.of(file.id).isEmpty else { return }
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

    /// Receives a file to its end though nobody reads it, behind what readers want, until it is here, will never come,
    /// or `stopKeeping`. What fails for a while is tried again; `condition(of:)` says why it waits. The next mount knows
    /// nothing of it.
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

    /// What is under way of a file for `keep` alone ends; readers, a pin, and what they began go on.
    public func stopKeeping(_ file: FileID) {
        context.registry[file]?.step { machine, _ in machine.stopKeeping() }
    }

    /// Tries at once what waits for another try: something has changed, such as which relays are approved.
    public func tryAgain() {
        for file in context.registry.all.sorted(by: { $0.id < $1.id }) {
            file.step { machine, _ in machine.tryAgain() }
        }
    }

    /// Empties the cache but for what is open or pinned.
    public func clearCache() { context.registry.evictAll() }

    /// From memory, but for one call to the disk.
    public func cacheReport() -> CacheReport {
        let (cache, settings) = (context.cache, context.settings)
        return CacheReport(
            mode: settings.cacheMode, bytesOnDisk: cache.usage.total, limit: settings.cacheLimit,
            minimumFree: settings.minimumFree, free: cache.freeBytes() ?? 0,
            files: context.registry.all.count { $0.condition.cached > 0 },
            pinned: context.retention.pinned.count)
    }
}
