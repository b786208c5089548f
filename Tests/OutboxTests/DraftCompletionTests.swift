import Posix
import Testing

@testable import Outbox

/// The decision whether a closed draft is finished: row by row, and over all programs, exits and kernels.
@Suite struct DraftCompletionTests {
    private typealias Verdict = DraftCompletion.Verdict

    private static let cp = WriterProgram("cp", .copying)
    private static let wget = WriterProgram("wget", .resuming)
    private static let server = WriterProgram("sftp-server", .serving)

    private static func writer(
        _ program: WriterProgram = cp, _ outcome: ProcessOutcome? = .exited(0)
    ) -> WriterEvidence { WriterEvidence(program: program, outcome: outcome) }

    private func verdict(_ writers: WriterEvidence..., change: (inout DraftCompletion) -> Void = { _ in })
        -> Verdict
    {
        var completion = DraftCompletion(writers: writers)
        change(&completion)
        return completion.verdict
    }

    // MARK: - Rows

    @Test func draftWithoutEvidenceIsFinished() {
        #expect(verdict() == .finished)
        #expect(verdict(Self.writer()) == .finished)
        #expect(verdict(Self.writer(Self.cp, nil)) == .finished)
        #expect(verdict(Self.writer(Self.cp, .unknown)) == .finished)
        #expect(verdict(Self.writer(Self.wget)) == .finished)
    }

    @Test func failedSourceHoldsDraftFirst() {
        var all = Self.writer(Self.wget, .signalled(2))
        (all.failedRead, all.refusedRename, all.handledSignal) = (true, true, true)
        #expect(verdict(all) { $0.hasStateFile = true } == .held(.failedRead("wget")))
        all.failedRead = false
        #expect(verdict(all) { $0.hasStateFile = true } == .held(.besideStateFile))
        #expect(verdict(all) { $0.isStateFile = true } == .held(.stateFile))
        #expect(verdict(all) == .held(.signal("wget", number: 2)))
        all.outcome = .exited(8)
        #expect(verdict(all) == .held(.status("wget", 8)))
        all.outcome = .exited(0)
        #expect(verdict(all) == .held(.refusedRename("wget")))
        all.refusedRename = false
        #expect(verdict(all) == .finished)
    }

    @Test func userDecidesAgainstAllEvidence() {
        var writer = Self.writer(Self.wget, .signalled(9))
        writer.failedRead = true
        #expect(
            verdict(writer) { ($0.isWanted, $0.hasStateFile, $0.earlierHold) = (true, true, .stateFile) }
                == .finished)
    }

    @Test func rowDecidesWithoutWriters() {
        #expect(verdict { $0.earlierHold = .running("wget") } == .held(.running("wget")))
        #expect(verdict { $0.earlierHold = .stateFile } == .held(.stateFile))
        // The state file is gone.
        #expect(verdict { $0.earlierHold = .besideStateFile } == .finished)
        #expect(verdict(Self.writer()) { $0.earlierHold = .running("wget") } == .finished)
    }

    @Test func resumingProgramIsAwaitedUntilSilent() {
        for program in [Self.wget, Self.server] {
            let running = Self.writer(program, nil)
            let reason = HoldReason.running(program.name)
            #expect(verdict(running) == .waits(reason, limit: .seconds(900)))
            #expect(verdict(running) { $0.silence = .seconds(899) } == .waits(reason, limit: .seconds(1)))
            #expect(verdict(running) { $0.silence = .seconds(900) } == .finished)
            let withState = { (completion: inout DraftCompletion) in completion.hasStateFile = true }
            #expect(verdict(running, change: withState) == .waits(reason, limit: .seconds(900)))
        }
        let silent = Self.writer(Self.wget, nil)
        #expect(
            verdict(silent) { ($0.silence, $0.hasStateFile) = (.seconds(900), true) }
                == .held(.besideStateFile))
    }

    @Test func runningScriptIsAwaitedLessLong() {
        let script = Self.writer(WriterProgram("fetch.py", .scripted), nil)
        let reason = HoldReason.running("fetch.py")
        #expect(verdict(script) == .waits(reason, limit: .seconds(30)))
        #expect(verdict(script) { $0.silence = .seconds(30) } == .finished)
        let both = verdict(script, Self.writer(Self.wget, nil))
        #expect(both == .waits(.running("wget"), limit: .seconds(900)))
        #expect(verdict(Self.writer(WriterProgram("fetch.py", .scripted))) == .finished)
    }

    @Test func signalHandlerIsAwaitedBriefly() {
        var writer = Self.writer(WriterProgram("dd"), nil)
        writer.handledSignal = true
        #expect(verdict(writer) == .waits(.interrupted("dd"), limit: .seconds(5)))
        #expect(verdict(writer) { $0.silence = .seconds(5) } == .finished)
        writer.outcome = .signalled(2)
        #expect(verdict(writer) == .held(.signal("dd", number: 2)))
        writer.outcome = .unknown
        #expect(verdict(writer) == .held(.interrupted("dd")))
        writer.outcome = .exited(0)
        #expect(verdict(writer) == .finished)
    }

    @Test func serverEndingWithOpenFileHoldsDraft() {
        for outcome in [ProcessOutcome.exited(0), .unknown] {
            var writer = Self.writer(Self.server, outcome)
            #expect(verdict(writer) == .finished)
            writer.closedByItsEnd = true
            #expect(verdict(writer) == .held(.lostConnection("sftp-server")))
        }
        var copy = Self.writer(Self.cp)
        copy.closedByItsEnd = true
        #expect(verdict(copy) == .finished)
    }

    @Test func oneOfSeveralWritersSuffices() {
        #expect(verdict(Self.writer(), Self.writer(Self.cp, .exited(1))) == .held(.status("cp", 1)))
        #expect(
            verdict(Self.writer(Self.cp, .signalled(15)), Self.writer()) == .held(.signal("cp", number: 15)))
    }

    @Test func exitStatusIsReadPerProgram() {
        let policy = WriterPolicy()
        func held(_ words: String, _ status: Int32) -> Bool {
            let arguments = words.split(separator: " ").map(String.init)
            let caller = Caller(executable: arguments[0], arguments: arguments)
            return verdict(Self.writer(policy.program(caller), .exited(status))) != .finished
        }
        for (words, status) in [
            ("/usr/bin/cp", 1), ("/usr/bin/curl", 18), ("/usr/bin/pv", 32), ("/usr/bin/ssh", 255),
            ("diff", 2),
            ("/usr/bin/python3 make.py", 1), ("/usr/bin/python3 /usr/bin/yt-dlp", 2), ("/usr/bin/rsync", 20),
            ("/bin/busybox", 3), ("tar", 2), ("pigz", 4),
        ] as [(String, Int32)] {
            #expect(held(words, status) || words.hasSuffix("busybox"), "\(words) \(status)")
        }
        for (words, status) in [
            ("/usr/bin/cp", 0), ("/usr/bin/diff", 1), ("/usr/bin/grep", 1), ("/usr/bin/qpdf", 3), ("tar", 1),
            ("/bin/sh", 7), ("/usr/bin/bash", 130), ("/usr/bin/python3", 3), ("/usr/bin/rsync", 24),
        ] as [(String, Int32)] { #expect(!held(words, status), "\(words) \(status)") }
    }

    @Test func refusedOwnerExcusesExitStatus() {
        var writer = Self.writer(Self.cp, .exited(1))
        writer.refusedOwner = true
        #expect(verdict(writer) == .finished)
        writer.outcome = .signalled(2)
        #expect(verdict(writer) == .held(.signal("cp", number: 2)))
    }

    @Test func errorAfterWholeSourceIsAboutAnotherFile() {
        var writer = Self.writer(Self.cp, .exited(1))
        writer.readWholeSource = true
        #expect(verdict(writer) == .finished)
        writer.outcome = .signalled(2)
        #expect(verdict(writer) == .held(.signal("cp", number: 2)))
        writer.outcome = .exited(1)
        writer.failedRead = true
        #expect(verdict(writer) == .held(.failedRead("cp")))
    }

    // MARK: - All combinations

    /// The true end of a program after it closed its file.
    private enum Ending: CaseIterable {
        case runs, exits, fails, signal, handlesSignal, handlesSignalAndFails

        var isFinished: Bool { self == .runs || self == .exits }

        /// The known evidence: kernels before 6.15 do not report the exit of a process that closed its file before.
        func evidence(_ program: WriterProgram, tellsExits: Bool) -> WriterEvidence {
            let outcome: ProcessOutcome? =
                switch self {
                case .runs: nil
                case .exits: .exited(0)
                case .fails, .handlesSignalAndFails: .exited(20)
                case .signal, .handlesSignal: .signalled(2)
                }
            var evidence = WriterEvidence(program: program, outcome: outcome)
            if !tellsExits, outcome != nil { evidence.outcome = .unknown }
            evidence.handledSignal = self == .handlesSignal || self == .handlesSignalAndFails
            return evidence
        }
    }

    /// If the kernel reports exits, nothing unfinished is sent; nothing finished is held anywhere.
    @Test func decisionsMatchTheModel() {
        for kind in WriterKind.allCases {
            for tellsExits in [true, false] {
                for ending in Ending.allCases {
                    let program = WriterProgram("program", kind)
                    let evidence = ending.evidence(program, tellsExits: tellsExits)
                    let verdict = verdict(evidence)
                    let place = "\(kind) \(ending) \(tellsExits)"
                    switch verdict {
                    case .finished:
                        // Without exit information, an end that no signal mask shows is unknown.
                        let isUnknown = !tellsExits && !evidence.handledSignal
                        #expect(ending.isFinished || isUnknown, "\(place)")
                        #expect(kind.maxQuietTimes == 0 || ending != .runs, "\(place)")
                    case .held: #expect(!ending.isFinished, "\(place)")
                    case .waits: #expect(ending == .runs && kind.maxQuietTimes > 0, "\(place)")
                    }
                    #expect(tellsExits || !evidence.handledSignal || verdict != .finished, "\(place)")
                }
            }
        }
    }
}
