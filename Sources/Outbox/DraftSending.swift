import Base
import ChatCore

// From closed to sent. Each step is taken under the draft's turn; the long ones in between are not.
extension Draft {
    /// Begins to copy a closed draft, or nil when it is not one that is sent.
    func beginStaging() -> (Journal.Entry, version: Int)? {
        turn.with {
            record.withLock { record in
                // Opened and closed again since it was quiet: it will be once more.
                guard record.phase == .draft, record.writers.isEmpty, record.entry.state == .closed,
                    record.reasonToStay == nil, !room.quiet.isAwaited(by: self)
                else { return nil }
                record.phase = .staging
                return (record.entry, record.version)
            }
        }
    }

    /// Whether a copy that began at `version` is still worth being finished.
    func isStaging(_ version: Int) -> Bool {
        record.withLock { $0.phase == .staging && $0.version == version }
    }

    /// The copy failed. Whether to try again later.
    func endStaging(_ version: Int, problem: OutboxError) -> Bool {
        turn.with {
            guard isStaging(version) else { return false }
            noteNotQueued(problem: problem)
            return problem.code != .damaged
        }
    }

    /// Under the turn: the row to write, when nothing has changed since `version`.
    func entryToQueue(_ version: Int, _ staged: Journal.Staged) -> Journal.Entry? {
        guard isStaging(version) else { return nil }
        var entry = record.withLock { $0.entry }
        entry.state = .queued
        entry.staged = staged
        entry.problem = nil
        return entry
    }

    /// Under the turn: the row is durable.
    func noteQueued(_ entry: Journal.Entry) {
        record.withLock { record in
            record.phase = .queued
            record.entry = entry
        }
        room.order.ready(self, at: entry.place)
        room.news.send(.changed(self))
    }

    /// Under the turn: it stays a closed draft, for the reason given.
    func noteNotQueued(problem: OutboxError) {
        record.withLock { record in
            record.phase = .draft
            record.entry.problem = problem.sentence
            if problem.code == .damaged { record.entry.gap = .failedWrite }
        }
        room.order.leave(self)
        room.news.send(.changed(self))
    }

    /// What is queued gets its place in line: after a start, and for another attempt.
    func enterAgain() {
        turn.with {
            let (isQueued, place) = record.withLock { ($0.phase == .queued, $0.entry.place) }
            if isQueued { room.order.ready(self, at: place) }
        }
    }

    /// The message to hand over, or nil when it was taken back or removed. From now on the draft is
    /// immutable: the core may have it.
    func beginSending() -> ComposedMessage? {
        turn.with {
            let entry: Journal.Entry? = record.withLock { record in
                guard record.phase == .queued else { return nil }
                record.phase = .sending
                return record.entry
            }
            guard let entry, let staged = entry.staged else { return nil }
            room.news.send(.changed(self))
            var message = ComposedMessage(
                id: entry.message, fileName: staged.fileName, size: entry.size,
                source: FileSourceLocation(path: room.staging.path(of: staged), arguments: staged.arguments),
                content: MessageContent(kind: staged.kind, text: entry.caption), modified: entry.modified)
            message.mayBeRepeated = entry.isConfirmed
            return message
        }
    }

    /// The core has it. Whether it still is wanted: false when it was removed meanwhile. Its bytes stay
    /// until everybody knows where they are now, see `Outbox.acknowledge`.
    func noteSent(_ item: ItemID) -> Bool {
        turn.with {
            let (entry, isWanted) = record.withLock { record in
                guard record.phase == .sending else { return (record.entry, false) }
                record.phase = .sent
                record.entry.state = .sent
                record.entry.item = item
                record.entry.problem = nil
                return (record.entry, true)
            }
            if isWanted {
                do {
                    try room.journal.apply([entry])
                } catch {
                    // After a crash it is handed over once more, and the core answers the same item.
                    room.log.warning("a sent file could not be noted: \(Base.sentence(of: error))")
                }
            }
            if let staged = entry.staged { room.staging.remove(staged) }
            return isWanted
        }
    }

    /// The core refused it. For good, or for the `number`th time for now: that number, nil when it is not
    /// to be tried again.
    func noteRefused(_ error: ChatError, isFinal: Bool) -> Int? {
        turn.with {
            let (entry, isWanted, tries) = record.withLock { record in
                guard record.phase == .sending else { return (record.entry, false, 0) }
                let isUnsure = error.code == .sendingUnsure
                record.phase = isUnsure ? .unsure : isFinal ? .failed : .queued
                record.tries += 1
                // Refused for what it is, it is not there. Of a core that failed nobody knows.
                if isFinal || error.isAboutTheFile {
                    record.mayBeHandedOver = false
                } else if error.mayHideASuccess {
                    record.mayBeHandedOver = true
                }
                record.entry.state = isUnsure ? .unsure : isFinal ? .failed : .queued
                record.entry.isConfirmed = record.entry.isConfirmed && !isUnsure
                record.entry.problem = error.sentence
                return (record.entry, true, record.tries)
            }
            guard isWanted else {
                if let staged = entry.staged { room.staging.remove(staged) }
                return nil
            }
            do {
                try room.journal.apply([entry])
            } catch {
                room.log.warning("a refused file could not be noted: \(Base.sentence(of: error))")
            }
            room.news.send(.changed(self))
            return isFinal ? nil : tries
        }
    }

    /// The user wants what a killed writer left sent as it is. False when it is not such a draft, or open.
    func noteWantedAsItIs() throws(OutboxError) -> Bool {
        try turn.with { () throws(OutboxError) in
            var entry = record.withLock { $0.entry }
            let isClosed = record.withLock { $0.phase == .draft && $0.writers.isEmpty }
            guard isClosed, entry.gap == .killedWriter else { return false }
            entry.gap = nil
            let mine = entry
            try described { try room.journal.apply([mine]) }
            record.withLock { $0.entry.gap = nil }
            settle()
            return true
        }
    }

    /// One that was refused, or that the core may have, is to be handed over once more. False when it is
    /// neither.
    func noteRetry() throws(OutboxError) -> Bool {
        try turn.with { () throws(OutboxError) in
            var entry = record.withLock { $0.entry }
            guard [.failed, .unsure].contains(state) else { return false }
            entry.isConfirmed = state == .unsure
            entry.state = .queued
            entry.problem = nil
            let mine = entry
            try described { try room.journal.apply([mine], durably: true) }
            record.withLock { record in
                record.entry = mine
                record.phase = .queued
                record.tries = 0
            }
            room.order.ready(self, at: mine.place)
            room.news.send(.changed(self))
            return true
        }
    }
}

extension ChatError {
    /// The core looked at the file and said no, as opposed to having failed itself.
    fileprivate var isAboutTheFile: Bool { if case .file = code { true } else { false } }

    /// The core may have taken the file before it failed.
    fileprivate var mayHideASuccess: Bool { [.storage, .internalError].contains(code) }
}
