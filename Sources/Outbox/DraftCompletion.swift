import Base
import Glibc
import Posix

// Whether what is there is all that its writers meant to write, and the row that says so after a kill.
extension Draft {
    /// A descriptor of an opening is being closed, by `thread` (0 when the kernel does not say), which waits for the
    /// answer: when it gets it, the row of the journal says that the draft is complete, or why it is not.
    public func flushed(_ opening: DraftOpening, by thread: pid_t) {
        guard opening.access == .writing else { return }
        ended(opening, meaning(ofCloseBy: thread, of: opening.number))
    }

    func ended(_ opening: DraftOpening, _ close: DescriptorClose) {
        if close == .foreign { return }
        turn.with {
            let (isComplete, wasKilled) = record.withLock { record in
                record.writers.flushed(opening.number, close)
                guard record.phase == .draft else { return (false, false) }
                if close == .killed { record.entry.gap = record.entry.gap ?? .killedWriter }
                return (record.writers.areFinished, close == .killed)
            }
            if isComplete { noteComplete(isClose: true) } else if wasKilled { noteKilled() }
        }
    }

    /// Whether nobody is in the middle of writing through `opening`.
    public func isFinished(_ opening: DraftOpening) -> Bool {
        opening.access == .reading || record.withLock { $0.writers.isFinished(opening.number) }
    }

    func meaning(ofCloseBy thread: pid_t, of number: Int) -> DescriptorClose {
        // Before the first write nothing can be missing.
        guard let last = record.withLock({ $0.writers.lastWriter(number) }), thread > 0 else {
            return .finished
        }
        if let writer = last.thread, writer != thread {
            // A child that was started with a copy of the descriptor closes that: it did not write. A thread that
            // has ended since it wrote was the caller's, or of a program that closed its own copy as it ended.
            if let process = ProcessEnding.process(of: writer) {
                guard process == ProcessEnding.process(of: thread) else { return .foreign }
            } else if last.isFinished {
                return .foreign
            }
        }
        return ProcessEnding.isKilled(thread) ? .killed : .finished
    }

    // MARK: - Under the turn

    /// The row says from now on that nothing is being written.
    /// - Parameter isClose: a descriptor is being closed; its release, which may come in any order, is none.
    func noteComplete(isClose: Bool) {
        let seen = room.seen.seconds
        let place = room.order.nextPlace()
        let (entry, isNoted, isNews) = record.withLock { record in
            let before = record.entry
            if isClose || before.state != .closed { record.entry.place = place }
            record.entry.problem = record.reasonToStay
            let isNews = before.problem != record.entry.problem
            // Noted by a flush a moment ago, as a rule.
            let isNoted = before.state == .closed && !isNews && before.touched == seen
            if !isNoted {
                record.entry.state = .closed
                record.entry.boot = room.boot
                record.entry.touched = seen
            }
            return (record.entry, isNoted, isNews)
        }
        if !isNoted { note(entry) }
        if isNews { room.news.send(.changed(self)) }
    }

    /// The row says that something is missing, and its entry says so at once: others may have it open for long.
    private func noteKilled() {
        let entry = record.withLock { record in
            record.entry.problem = record.reasonToStay
            return record.entry
        }
        note(entry)
        room.news.send(.changed(self))
    }

    private func note(_ entry: Journal.Entry) {
        do {
            try room.journal.apply([entry])
        } catch {
            // It is sent all the same; only after a crash before that it is taken for unfinished.
            room.log.warning("a closed draft could not be noted: \(Base.sentence(of: error))")
        }
    }

    /// Before bytes change: the row says no longer that they are complete. `change` is what changes with it.
    func noteUnfinished(_ change: (inout Record) -> Void) throws {
        let before = record.withLock { record in
            change(&record)
            return record.entry
        }
        guard before.state == .closed, record.withLock({ $0.phase == .draft }) else { return }
        var entry = before
        entry.state = .open
        // As in `takeBack`: a power cut must not bring back a row that would send what is written now.
        try room.journal.apply([entry], durably: before.isDurable)
        record.withLock { $0.entry.state = .open }
    }
}
