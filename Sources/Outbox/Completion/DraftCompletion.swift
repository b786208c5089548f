import Posix

/// Decides from evidence whether a closed draft is finished. A value without I/O. The table in
/// `docs/user/sending.md` ("Unfinished files") lists the rules.
///
/// The first reason counts:
/// 1. the user's request
/// 2. an unreadable source
/// 3. a state file or a local file name
/// 4. a writer ended by a signal or an error
/// 5. a refused rename
/// 6. a running program that may continue the file
struct DraftCompletion: Hashable, Sendable {
    enum Verdict: Hashable, Sendable {
        case finished
        /// Checked again when a writer ends, or after `limit`.
        case waits(HoldReason, limit: Duration)
        case held(HoldReason)
    }

    var writers: [WriterEvidence] = []
    /// The draft is a state file by its name, and its subject exists.
    var isStateFile = false
    /// A state file about the draft exists.
    var hasStateFile = false
    /// The reason if the name and evidence mark a program's own file (`LocalFileName`).
    var localFile: HoldReason?
    /// The reason in the draft's row why it was not sent before.
    var earlierHold: HoldReason?
    /// The user requested that the draft be sent as it is.
    var isWanted = false
    /// Time since the last close or rename.
    var silence = Duration.zero
    /// Length of a quiet time.
    var quietTime = Duration.seconds(1)

    /// Maximum time from a signal to the process's exit; a process that still runs then continues.
    static let signalSilenceLimit = Duration.seconds(5)

    var verdict: Verdict {
        if isWanted { return .finished }
        if let writer = writers.first(where: \.failedRead) { return .held(.failedRead(writer.program.name)) }
        // Without writers, the row has the best evidence.
        if writers.isEmpty, let earlierHold, earlierHold != .besideStateFile { return .held(earlierHold) }
        if let state = stateVerdict { return state }
        if let reason = writers.lazy.compactMap(\.signalReason).first { return .held(reason) }
        if let reason = writers.lazy.compactMap(\.statusReason).first { return .held(reason) }
        if let writer = writers.first(where: \.refusedRename) {
            return .held(.refusedRename(writer.program.name))
        }
        if let wait = waitForRunningWriter { return wait }
        if let writer = writers.first(where: { $0.handledSignal && $0.outcome == nil }) {
            let left = Self.signalSilenceLimit - silence
            return left > .zero ? .waits(.interrupted(writer.program.name), limit: left) : .finished
        }
        return .finished
    }

    /// A running program may still complete both files.
    private var stateVerdict: Verdict? {
        guard isStateFile || hasStateFile || localFile != nil else { return nil }
        if let wait = waitForRunningWriter { return wait }
        if isStateFile { return .held(.stateFile) }
        return .held(hasStateFile ? .besideStateFile : localFile ?? .besideStateFile)
    }

    /// The wait for a running writer that may continue the draft, until it has been silent for long.
    private var waitForRunningWriter: Verdict? {
        let running = writers.lazy.filter { $0.outcome == nil }.map(\.program)
        guard let program = running.max(by: { $0.kind.maxQuietTimes < $1.kind.maxQuietTimes }) else {
            return nil
        }
        let left = quietTime * program.kind.maxQuietTimes - silence
        return left > .zero ? .waits(.running(program.name), limit: left) : nil
    }
}

extension WriterEvidence {
    /// The reason if a signal ended the writer, as far as known.
    fileprivate var signalReason: HoldReason? {
        switch outcome {
        case .signalled(let number): .signal(program.name, number: number)
        case .unknown where handledSignal: .interrupted(program.name)
        case .unknown, .exited, nil: nil
        }
    }

    /// The reason if the writer failed: by its exit status, or because only its exit closed the draft.
    fileprivate var statusReason: HoldReason? {
        switch outcome {
        case .exited(let status) where program.statuses.isFailure(status):
            // Its error is about another file, or an attribute of this one.
            if refusedOwner || readWholeSource { return nil }
            return .status(program.name, status)
        case .exited, .unknown:
            let isLost = (program.kind == .serving || program.kind == .closing) && closedByItsEnd
            return isLost ? .lostConnection(program.name) : nil
        case .signalled, nil: return nil
        }
    }
}
