import Base
import ChatCore
import Cryptography
import Glibc

// Opening, writing and closing. A draft that has a writer is never staged, and staging gives way to one
// that comes meanwhile, so bytes change only in the phase `draft` (or of a file that is removed already).
extension Draft {
    /// A file description was opened. For writing, a draft that was queued but not handed over becomes
    /// a draft again, durably before this returns.
    /// A removed one is opened for as long as somebody holds it or has it open.
    /// - Throws: `notPermitted` for writing once it is on its way, and when it is recovered; `gone`.
    @discardableResult
    public func opened(for access: DraftAccess) throws(OutboxError) -> DraftOpening {
        guard hold() else { throw OutboxError.gone }
        defer { letGo() }
        return try turn.with { () throws(OutboxError) -> DraftOpening in
            let (entry, file) = record.withLock { ($0.entry, $0.file) }
            let opened = try described { try file ?? room.spool.open(entry.spool, key: entry.key) }
            if access == .writing { try takeBack() }
            let number = record.withLock { record in
                record.file = opened
                if access == .writing { return record.writers.open() }
                record.readers += 1
                return 0
            }
            if access == .writing { room.quiet.cancel(self) } else { waitAgain() }
            return DraftOpening(access, number)
        }
    }

    /// A file description was released. After the last writer's the quiet time begins.
    public func closed(_ opening: DraftOpening) {
        turn.with {
            // A chat of thousands of drafts keeps no descriptors: the file goes with its last user.
            let (isLastWriter, file) = record.withLock { record in
                switch opening.access {
                case .reading: record.readers -= 1
                case .writing: record.writers.close(opening.number)
                }
                let file = record.file
                if record.writers.isEmpty && record.readers == 0 { record.file = nil }
                let isLastWriter = opening.access == .writing && record.writers.isEmpty
                return (isLastWriter && record.phase == .draft, file)
            }
            if isLastWriter { settle() }
            // Closed here, after the lock.
            withExtendedLifetime(file) {}
        }
        removeIfUnused()
    }

    /// Writes all of `bytes` at `offset`, or fails as a whole as far as the file's length goes; then the
    /// draft is incomplete and stays local until it is emptied and written again.
    /// - Parameter thread: whose write(2) it is, 0 when that is not known.
    /// - Throws: `tooLarge`, `noSpace`, `notPermitted`, `storage`.
    public func write(
        _ bytes: UnsafeRawBufferPointer, at offset: UInt64, through opening: DraftOpening, by thread: pid_t
    ) throws(OutboxError) {
        try turn.with { () throws(OutboxError) in
            let (file, size) = try fileForWriting()
            let (end, overflow) = offset.addingReportingOverflow(UInt64(bytes.count))
            guard !bytes.isEmpty else { return }
            try failingAsIncomplete(file) {
                try requireAllowed(overflow ? .max : end)
                if end > size { try requireRoom(for: UInt64(bytes.count), whenLong: end) }
                try noteUnfinished { record in
                    let isNewAttempt = record.writers.wrote(through: opening.number, by: thread)
                    if isNewAttempt, record.entry.gap == .killedWriter { record.entry.gap = nil }
                }
                try file.write(bytes, at: offset)
            }
            noteWritten(size: max(size, end))
            follow(offset..<end, oldSize: size)
        }
    }

    /// Sets the length: cuts, or grows by zeros that take no space. Without a writer (truncate(2)) it
    /// counts as one that opened and closed it.
    public func truncate(to size: UInt64) throws(OutboxError) {
        guard record.withLock({ !$0.writers.isEmpty }) else {
            let opening = try opened(for: .writing)
            defer { closed(opening) }
            return try truncate(to: size)
        }
        try turn.with { () throws(OutboxError) in
            let (file, old) = try fileForWriting()
            try failingAsIncomplete(file) {
                try requireAllowed(size)
                if size > old { try requireRoom(for: 0, whenLong: size) }
                try noteUnfinished { $0.writers.truncated() }
                try file.truncate(to: size)
            }
            if size < old { stopFollowing() }
            // Emptied, it can be written anew from the start.
            if size == 0 {
                record.withLock { record in
                    record.entry.gap = nil
                    record.following.isInOrder = true
                }
            }
            noteWritten(size: size)
        }
    }

    /// Makes everything written so far survive a power cut: the bytes, the name and the key. After a
    /// crash it is recovered, or sent when it was closed too.
    public func synchronise() throws(OutboxError) {
        try turn.with { () throws(OutboxError) in
            let isKept = record.withLock { $0.phase != .removed }
            guard isKept else { return }
            try described {
                try borrowFile { try $0.synchronise() }
                try room.spool.synchronise()
                let entry = record.withLock { record in
                    record.entry.isDurable = true
                    return record.entry
                }
                try room.journal.apply([entry], durably: true)
            }
        }
    }

    /// After a start: a closed draft waits for its quiet time once more.
    func settleAgain() {
        turn.with {
            let isClosed = record.withLock { record in
                let isClosed =
                    record.phase == .draft && record.writers.isEmpty && record.entry.state == .closed
                if isClosed { record.entry.problem = record.reasonToStay }
                return isClosed
            }
            if isClosed { waitForQuiet() }
        }
    }

    /// Closed and quiet, but not one to be sent: it stays for days, so it shall survive a power cut.
    func keepLocal() {
        stopFollowing()
        let isLeft = record.withLock { record in
            record.phase == .draft && record.writers.isEmpty && record.entry.state == .closed
                && !record.entry.isDurable
        }
        guard isLeft else { return }
        do {
            try synchronise()
        } catch {
            room.log.notice("a local draft is not safe against a power cut: \(error.sentence)")
        }
    }

    // MARK: - Under the turn

    private func fileForWriting() throws(OutboxError) -> (SealedFile, size: UInt64) {
        let (file, size, isOpen) = record.withLock { record in
            let isOpen = !record.writers.isEmpty && [.draft, .removed].contains(record.phase)
            return (record.file, record.entry.size, isOpen)
        }
        guard isOpen, let file else { throw OutboxError.immutable }
        return (file, size)
    }

    private func noteWritten(size: UInt64) {
        let now = room.clock.now()
        record.withLock { record in
            record.entry.size = size
            record.entry.modified = now
            record.entry.isDurable = false
        }
    }

    /// What the writer did not get in is missing: the draft is not fit to be sent.
    private func failingAsIncomplete(
        _ file: SealedFile, _ body: () throws -> Void
    ) throws(OutboxError) {
        do {
            try body()
        } catch {
            stopFollowing()
            record.withLock { record in
                record.entry.gap = .failedWrite
                record.entry.size = file.size
                record.entry.isDurable = false
            }
            throw OutboxError(beneath: error)
        }
    }

    private func requireAllowed(_ size: UInt64) throws {
        let limit = room.largestFile(in: chat)
        guard size <= limit else {
            throw OutboxError(
                .tooLarge,
                "A file in this chat can have at most \(ByteCount.rounded(limit)); this one is larger.")
        }
    }

    /// A draft is copied once when it is sent. A writer learns now, not later, that there is no room.
    private func requireRoom(for growth: UInt64, whenLong size: UInt64) throws {
        let copied = record.withLock { $0.following.copy?.copied ?? 0 }
        let (needed, overflow) = growth.addingReportingOverflow(size - min(copied, size))
        guard !overflow, try room.spool.availableBytes() >= needed else {
            throw OutboxError(.noSpace, OutboxError.noSpaceSentence)
        }
    }

    /// Makes it a draft again, for a writer that comes.
    private func takeBack() throws(OutboxError) {
        var (entry, phase, isOpen, mayBeHandedOver) = record.withLock {
            ($0.entry, $0.phase, !$0.writers.isEmpty, $0.mayBeHandedOver)
        }
        switch phase {
        case .draft where isOpen: return
        // Nothing of it is sent or kept any more.
        case .removed: return
        case .queued where mayBeHandedOver: throw OutboxError.immutable
        case .draft, .staging, .queued, .failed: break
        case .sending, .sent, .unsure, .recovered: throw OutboxError.immutable
        }
        // A row that would send these bytes after a crash must not be what a power cut leaves behind.
        let mustLast = phase == .queued || phase == .failed || entry.isDurable
        let (staged, hadProblem) = (entry.staged, entry.problem != nil)
        entry.state = .open
        entry.staged = nil
        entry.problem = nil
        entry.isConfirmed = false
        let mine = entry
        // The courier takes a queued draft under the same turn, so nobody has it yet.
        try described { try room.journal.apply([mine], durably: mustLast) }
        record.withLock { record in
            record.entry = mine
            record.phase = .draft
            record.version += 1
            record.tries = 0
        }
        room.order.leave(self)
        if let staged { room.staging.remove(staged) }
        if phase != .draft || hadProblem { room.news.send(.changed(self)) }
    }

    /// Nobody writes any longer: the row says so, and the quiet time begins unless it stays local.
    func settle() {
        noteComplete(isClose: false)
        waitForQuiet()
    }

    /// The quiet time begins, with a place in line for what will be sent.
    private func waitForQuiet() {
        let (place, isSent) = record.withLock { ($0.entry.place, $0.reasonToStay == nil) }
        if isSent { room.order.enter(self, at: place) } else { room.order.leave(self) }
        room.quiet.begin(self)
    }

    /// Somebody looks at it before it is copied: the quiet time begins anew, also when it was over and the draft
    /// waits for the copying.
    private func waitAgain() {
        let isWaiting = record.withLock { record in
            record.phase == .draft && record.writers.isEmpty && record.entry.state == .closed
                && record.reasonToStay == nil
        }
        if isWaiting { room.quiet.begin(self) }
    }
}
