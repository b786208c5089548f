import Glibc
import Posix

/// What processes did to a draft since it was begun last: the source of the evidence whether it is finished. An
/// attempt begins with the first write through an opening that was made when nobody else had the draft open. A value.
struct DraftActs: Sendable {
    fileprivate struct Act: Sendable {
        let writer: WriterProcess
        /// Which thread wrote first in this attempt, and its signals then; nil where its process catches none.
        var thread: pid_t
        var signals: SignalState?
        var failedRead = false
        var refusedRename = false
        var handledSignal = false
        var closedByItsEnd = false
        var lastClose: ContinuousClock.Instant?
    }

    private var attempt = -1
    private var acts: [ObjectIdentifier: Act] = [:]
    /// Who wrote last: as a rule it goes on.
    private var latest: (opening: Int, thread: pid_t)?

    var writers: [WriterProcess] { acts.values.map(\.writer) }
    /// Those that have started writers to work for them.
    var parents: [WriterProcess] {
        acts.values.compactMap(\.writer.parent).filter { acts[ObjectIdentifier($0)] == nil }
    }
    var isEmpty: Bool { acts.isEmpty }

    /// What `noteWrite` needs to be told of: not the next piece of the same writer.
    func knows(_ opening: Int, _ thread: pid_t, in attempt: Int) -> Bool {
        guard let latest else { return false }
        return latest == (opening, thread) && attempt == self.attempt
    }

    /// - Parameter signals: of `thread`, where the process catches any.
    mutating func noteWrite(
        _ writer: WriterProcess, _ opening: Int, _ thread: pid_t, _ signals: SignalState?, in attempt: Int
    ) {
        if attempt != self.attempt { removeAll() }
        self.attempt = attempt
        latest = (opening, thread)
        let key = ObjectIdentifier(writer)
        if acts[key] == nil { acts[key] = Act(writer: writer, thread: thread, signals: signals) }
    }

    mutating func removeAll() {
        acts = [:]
        latest = nil
    }

    /// Whether the signals of a process that closes or renames say anything.
    func comparesSignals(of writer: WriterProcess) -> Bool { acts[ObjectIdentifier(writer)]?.signals != nil }

    mutating func noteClose(
        by writer: WriterProcess, _ thread: pid_t, _ signals: SignalState?, isEnding: Bool
    ) {
        let key = ObjectIdentifier(writer)
        noteSignals(key, thread, signals)
        acts[key]?.closedByItsEnd = isEnding
        acts[key]?.lastClose = .now
    }

    /// A rename by a process that has not written it, such as mv, is the wish of somebody.
    mutating func noteRename(by writer: WriterProcess, _ thread: pid_t, _ signals: SignalState?) {
        let key = ObjectIdentifier(writer)
        noteSignals(key, thread, signals)
        for key in acts.keys { acts[key]?.refusedRename = false }
    }

    private mutating func noteSignals(_ key: ObjectIdentifier, _ thread: pid_t, _ signals: SignalState?) {
        guard let act = acts[key], let before = act.signals, var now = signals else { return }
        // What another thread blocks says nothing.
        if thread != act.thread { now.blocked = before.blocked }
        if now.isHandlingSignal(since: before) { acts[key]?.handledSignal = true }
    }

    mutating func noteFailedRead(of writers: [WriterProcess]) {
        for writer in writers { acts[ObjectIdentifier(writer)]?.failedRead = true }
    }

    /// - Parameter writer: nil: all.
    mutating func noteRefusedRename(by writer: WriterProcess?) {
        for (key, act) in acts where writer == nil || act.writer === writer {
            acts[key]?.refusedRename = true
        }
    }

    /// As it is at this moment.
    var evidence: [WriterEvidence] {
        acts.values.sorted { $0.writer.process < $1.writer.process }.map(\.evidence)
            + parents.map { WriterEvidence(program: $0.program, outcome: $0.outcome) }
    }
}

extension DraftActs.Act {
    /// A program that closes its files when its connection breaks ends in the same moment.
    private static let moment = Duration.milliseconds(200)

    fileprivate var evidence: WriterEvidence {
        let program = writer.program
        let outcome = writer.outcome
        var closedByItsEnd = closedByItsEnd
        if program.kind == .closing, let lastClose, let end = writer.end, end - lastClose < Self.moment {
            closedByItsEnd = true
        }
        return WriterEvidence(
            program: program, outcome: outcome, failedRead: failedRead, refusedRename: refusedRename,
            handledSignal: handledSignal, closedByItsEnd: closedByItsEnd,
            refusedAttributes: writer.refusedAttributes)
    }
}
