import Base
import Glibc
import Posix

/// Evidence about the programs that write a draft.
extension Draft {
    /// Called with the mutex held. Most calls are for the same writer.
    func noteWriteLocked(through opening: Int, by thread: pid_t) {
        let (latest, attempt, openedAt) = current.withLock { state in
            let attempt = state.machine.writers.attempt
            let latest = state.acts.latestWriter(opening, thread, in: attempt)
            return (latest, attempt, state.openedAt[opening])
        }
        if let latest, !latest.program.mayExecute { return }
        guard let writer = latest ?? context.writers.writer(of: thread) else { return }
        context.writers.identifyAgain(writer)
        // Still the same program.
        if latest != nil, writer.program.mayExecute { return }
        let signals = ThreadStatus(of: thread)?.signals
        let failed = writer.lastFailedRead
        current.withLock { state in
            let caught = signals?.catchesEndingSignal == true ? signals : nil
            state.acts.noteWrite(writer, opening, thread, caught, in: attempt)
            state.openedAt[opening] = nil
        }
        // The process read its source unsuccessfully after opening the draft, and writes bytes read before.
        if let failed, let openedAt, failed > openedAt { noteFailedReadLocked(by: writer) { $0 === writer } }
        if writer.program.kind.isDoubted { tellLocked(.doubted(.running(writer.program.name))) }
    }

    /// Records the process that opens the draft for writing.
    /// - Parameter thread: The thread that waits for the reply; 0 if unknown.
    public func wasOpened(_ opening: DraftOpening, by thread: pid_t) {
        guard let opener = context.writers.writer(of: thread) else { return }
        current.withLock {
            $0.acts.noteOpen(opening.number, by: opener, in: $0.machine.writers.attempt)
        }
    }

    func noteRefusedOwner(by writer: WriterProcess) {
        current.withLock { $0.acts.noteRefusedOwner(by: writer) }
    }

    /// - Parameter isEnding: True if the process closes all its files.
    func noteClose(by thread: pid_t, isEnding: Bool) {
        guard let writer = context.writers.writer(of: thread) else { return }
        let signals = signals(of: writer, thread)
        let size = current.withLock { state in
            state.acts.noteClose(by: writer, thread, signals, isEnding: isEnding)
            return state.machine.record.size
        }
        guard writer.program.copiesWholeFiles else { return }
        let reading = ProcessFiles.reading(of: writer.process, at: size)
        current.withLock { $0.acts.noteSource(of: writer, reading) }
    }

    /// Records a rename.
    /// - Parameter thread: The thread waiting for the reply; 0 if unknown.
    func noteRename(by thread: pid_t) {
        guard !current.withLock({ $0.acts.isEmpty }), let writer = context.writers.writer(of: thread) else {
            return
        }
        let signals = signals(of: writer, thread)
        current.withLock { $0.acts.noteRename(by: writer, thread, signals) }
    }

    private func signals(of writer: WriterProcess, _ thread: pid_t) -> SignalState? {
        guard current.withLock({ $0.acts.comparesSignals(of: writer) }) else { return nil }
        return ThreadStatus(of: thread)?.signals
    }

    /// Records a refused rename, of this draft or by one of its writers.
    /// - Parameter writer: Nil for a rename of this draft, by any process.
    func noteRefusedRename(by writer: WriterProcess?) {
        current.withLock { $0.acts.noteRefusedRename(by: writer) }
    }

    /// Records a failed read: drafts that depend on `reader` are incomplete.
    /// - Parameter isMeant: Returns true if a writer gets its bytes from the reader.
    func noteFailedRead(by reader: WriterProcess, where isMeant: (WriterProcess) -> Bool) {
        guard current.withLock({ !$0.machine.writers.isEmpty && !$0.acts.isEmpty }) else { return }
        mutex.withLock { noteFailedReadLocked(by: reader, where: isMeant) }
    }

    private func noteFailedReadLocked(by reader: WriterProcess, where isMeant: (WriterProcess) -> Bool) {
        // Outside the lock, because `isMeant` may read proc(5).
        let meant = writerProcesses.filter(isMeant)
        guard !meant.isEmpty, current.withLock({ !$0.machine.writers.isEmpty }) else { return }
        current.withLock { $0.acts.noteFailedRead(of: meant) }
        tellLocked(.doubted(.failedRead(reader.program.name)))
    }

    /// Writers since the last verdict.
    var writerProcesses: [WriterProcess] { current.withLock { $0.acts.writers } }

    private var awaited: [WriterProcess] {
        let acts = current.withLock { $0.acts }
        return acts.writers + acts.others
    }

    /// The current evidence about writers, and the time since the last change. Reads proc(5) for processes
    /// that have just ended.
    var completion: DraftCompletion {
        let (acts, record, since) = current.withLock { ($0.acts, $0.machine.record, $0.quietSince) }
        return DraftCompletion(
            writers: acts.evidence, earlierHold: record.hold, isWanted: record.isWanted,
            silence: context.quietTime.now - since, quietTime: context.quietTime.length)
    }

    /// Passes the end of a quiet time to the machine. Blocks.
    func judge(_ verdict: DraftCompletion.Verdict, _ period: Int) -> DraftReply {
        mutex.withLock {
            let reply = tellLocked(.quietTimeOver(period: period, verdict))
            // The row has the verdict; a writer that returns counts as new. Each process holds a descriptor.
            current.withLock { state in
                let isHeld = state.machine.phase == .local && state.machine.record.hold != nil
                let isStaged = if case .stage = reply { true } else { false }
                if isHeld || isStaged { state.acts = DraftActs() }
            }
            return reply
        }
    }

    func waitForWriters(_ period: Int, _ limit: Duration) {
        context.quietTime.begin(self, period, waiting: limit)
        for writer in awaited {
            writer.whenEnded(id) { [weak self] in
                if let self { self.context.quietTime.hurry(self) }
            }
        }
    }
}
