import Posix

/// Whether a closed draft is finished: decided from evidence alone, a value without input and output. The table in
/// `docs/user/sending.md` ("Unfinished files") has what follows from which evidence.
///
/// Of several reasons the first counts, in this order: the user wants it as it is; its source could not be read; a file
/// with its state, or its name as one that a program keeps for itself; its writer was ended by a signal, or failed; a refused rename; a program that may go on with it.
struct DraftCompletion: Hashable, Sendable {
    enum Verdict: Hashable, Sendable {
        case finished
        /// It is asked again when a writer has ended, and after this time at the latest.
        case waits(HoldReason, limit: Duration)
        case held(HoldReason)
    }

    var writers: [WriterEvidence] = []
    /// By its name, and since that other file is there.
    var isStateFile = false
    /// Such a file is beside it.
    var hasStateFile = false
    /// Its name, and what is known besides, say that a program keeps it for itself (`LocalFileName`).
    var localFile: HoldReason?
    /// Its row says why it was not sent before.
    var earlierHold: HoldReason?
    /// The user has asked for it as it is.
    var isWanted = false
    /// Since its last close, or its last name.
    var silence = Duration.zero
    /// A program that may go on with it is given up after so much silence.
    var patience = Duration.seconds(900)

    /// One that handles a signal ends within this time, or goes on.
    static let signalPatience = Duration.seconds(5)

    var verdict: Verdict {
        if isWanted { return .finished }
        if let writer = writers.first(where: \.failedRead) { return .held(.failedRead(writer.program.name)) }
        // Nobody is left who could say more than the row does.
        if writers.isEmpty, let earlierHold, earlierHold != .besideStateFile { return .held(earlierHold) }
        if let state = stateVerdict { return state }
        if let reason = writers.lazy.compactMap(\.signalReason).first { return .held(reason) }
        if let reason = writers.lazy.compactMap(\.statusReason).first { return .held(reason) }
        if let writer = writers.first(where: \.refusedRename) {
            return .held(.refusedRename(writer.program.name))
        }
        if let writer = runningWriter {
            return silence < patience
                ? .waits(.running(writer.program.name), limit: patience - silence) : .finished
        }
        if let writer = writers.first(where: { $0.handledSignal && $0.outcome == nil }) {
            let left = Self.signalPatience - silence
            return left > .zero ? .waits(.interrupted(writer.program.name), limit: left) : .finished
        }
        return .finished
    }

    /// While its program runs it may still finish both.
    private var stateVerdict: Verdict? {
        guard isStateFile || hasStateFile || localFile != nil else { return nil }
        if let writer = runningWriter, silence < patience {
            return .waits(.running(writer.program.name), limit: patience - silence)
        }
        if isStateFile { return .held(.stateFile) }
        return .held(hasStateFile ? .besideStateFile : localFile ?? .besideStateFile)
    }

    /// One that may go on with it.
    private var runningWriter: WriterEvidence? {
        writers.first { $0.outcome == nil && $0.program.kind.mayGoOn }
    }
}

extension WriterEvidence {
    /// It was ended by a signal, as far as can be known.
    fileprivate var signalReason: HoldReason? {
        switch outcome {
        case .signalled(let number): .signal(program.name, number: number)
        case .unknown where handledSignal: .interrupted(program.name)
        case .unknown, .exited, nil: nil
        }
    }

    /// It has failed, by its exit status or because it left the file to its end.
    fileprivate var statusReason: HoldReason? {
        switch outcome {
        case .exited(let status) where program.statuses.isFailure(status) && !refusedAttributes:
            return .status(program.name, status)
        case .exited, .unknown:
            let isLost = (program.kind == .serving || program.kind == .closing) && closedByItsEnd
            return isLost ? .lostConnection(program.name) : nil
        case .signalled, nil: return nil
        }
    }
}
