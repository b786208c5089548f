import Glibc
import Posix

/// Operations of processes on a draft in the current attempt: the evidence whether it is finished. An attempt
/// begins with the first write through a handle that was opened when the draft had no other writer. A value.
struct DraftActs: Sendable {
    fileprivate struct Act: Sendable {
        let writer: WriterProcess
        /// The thread that wrote first in this attempt, and its signals then; nil if its process catches none.
        var thread: pid_t
        var signals: SignalState?
        var failedRead = false
        var readWholeSource = false
        var refusedRename = false
        var handledSignal = false
        var closedByItsEnd = false
        var refusedOwner = false
        var lastClose: ContinuousClock.Instant?
    }

    /// The processes that opened the draft for writing, by handle; for others too, as a shell does for its commands.
    private var openers: [Int: WriterProcess] = [:]
    /// The handles through which something was written.
    private var written: Set<Int> = []
    private var attempt = -1
    private var acts: [ObjectIdentifier: Act] = [:]
    /// The last writer, which usually writes next.
    private var latest: (opening: Int, thread: pid_t, writer: WriterProcess)?

    var writers: [WriterProcess] { acts.values.map(\.writer) }
    /// Processes that started writers, or opened the draft for them.
    var others: [WriterProcess] {
        if acts.isEmpty { return [] }
        return (acts.values.compactMap(\.writer.parent) + written.compactMap { openers[$0] })
            .filter { acts[ObjectIdentifier($0)] == nil }
    }
    var isEmpty: Bool { acts.isEmpty }

    /// Returns the writer if the last write was by the same one, so that `noteWrite` can be skipped.
    func latestWriter(_ opening: Int, _ thread: pid_t, in attempt: Int) -> WriterProcess? {
        guard let latest, latest.opening == opening, latest.thread == thread, attempt == self.attempt else {
            return nil
        }
        return latest.writer
    }

    /// - Parameter opening: The number of the handle.
    mutating func noteOpen(_ opening: Int, by opener: WriterProcess, in attempt: Int) {
        // Handles of earlier attempts are closed.
        openers = openers.filter { $0.key >= attempt }
        openers[opening] = opener
    }

    /// - Parameter signals: Signals of `thread` if its process catches any.
    mutating func noteWrite(
        _ writer: WriterProcess, _ opening: Int, _ thread: pid_t, _ signals: SignalState?, in attempt: Int
    ) {
        if attempt != self.attempt { removeAll() }
        self.attempt = attempt
        latest = (opening, thread, writer)
        written.insert(opening)
        let key = ObjectIdentifier(writer)
        if acts[key] == nil { acts[key] = Act(writer: writer, thread: thread, signals: signals) }
    }

    mutating func removeAll() {
        acts = [:]
        written = []
        latest = nil
    }

    /// Returns true if the writer's signals at a close or rename are evidence.
    func comparesSignals(of writer: WriterProcess) -> Bool { acts[ObjectIdentifier(writer)]?.signals != nil }

    mutating func noteClose(
        by writer: WriterProcess, _ thread: pid_t, _ signals: SignalState?, isEnding: Bool
    ) {
        let key = ObjectIdentifier(writer)
        noteSignals(key, thread, signals)
        acts[key]?.closedByItsEnd = isEnding
        acts[key]?.lastClose = .now
    }

    /// A rename by a process that did not write the draft, such as mv, is a user's decision.
    mutating func noteRename(by writer: WriterProcess, _ thread: pid_t, _ signals: SignalState?) {
        let key = ObjectIdentifier(writer)
        noteSignals(key, thread, signals)
        for key in acts.keys { acts[key]?.refusedRename = false }
    }

    private mutating func noteSignals(_ key: ObjectIdentifier, _ thread: pid_t, _ signals: SignalState?) {
        guard let act = acts[key], let before = act.signals, var now = signals else { return }
        // Another thread's blocked signals are no evidence.
        if thread != act.thread { now.blocked = before.blocked }
        if now.isHandlingSignal(since: before) { acts[key]?.handledSignal = true }
    }

    mutating func noteRefusedOwner(by writer: WriterProcess) {
        acts[ObjectIdentifier(writer)]?.refusedOwner = true
    }

    mutating func noteFailedRead(of writers: [WriterProcess]) {
        for writer in writers { acts[ObjectIdentifier(writer)]?.failedRead = true }
    }

    /// - Parameter reading: The progress of a copy tool through its source at the close; nil if unknown.
    mutating func noteSource(of writer: WriterProcess, _ reading: ProcessFiles.Reading?) {
        let key = ObjectIdentifier(writer)
        if reading == .hasBytesLeft { acts[key]?.failedRead = true }
        acts[key]?.readWholeSource = reading == .isComplete
    }

    /// - Parameter writer: Nil for all writers.
    mutating func noteRefusedRename(by writer: WriterProcess?) {
        for (key, act) in acts where writer == nil || act.writer === writer {
            acts[key]?.refusedRename = true
        }
    }

    /// The current evidence.
    var evidence: [WriterEvidence] {
        acts.values.sorted { $0.writer.process < $1.writer.process }.map(\.evidence)
            + others.map { WriterEvidence(program: $0.program, outcome: $0.outcome) }
            + WriterProcess.sources(of: writers + others).compactMap(\.evidenceOfSource)
    }
}

extension DraftActs.Act {
    /// Maximum time between the last close and the exit of a program that closes its files when its
    /// connection breaks.
    private static let moment = Duration.milliseconds(200)

    fileprivate var evidence: WriterEvidence {
        let program = writer.program
        let outcome = writer.outcome
        var closedByItsEnd = closedByItsEnd
        if program.kind == .closing, let lastClose, let end = writer.end, end - lastClose < Self.moment {
            closedByItsEnd = true
        }
        return WriterEvidence(
            program: program, outcome: outcome, failedRead: failedRead, readWholeSource: readWholeSource,
            refusedRename: refusedRename,
            handledSignal: handledSignal, closedByItsEnd: closedByItsEnd,
            refusedOwner: refusedOwner)
    }
}
