import Base
import Glibc
import Posix

/// A process that writes drafts, with a pidfd for its exit status. Thread-safe.
final class WriterProcess: Sendable {
    private struct State {
        var program: WriterProgram
        /// Path of the executable when `program` was found.
        var executable: String?
        var lastFailedRead: ContinuousClock.Instant?
        var parent: WriterProcess?
    }

    let process: pid_t
    /// The processes that write into the pipe at its standard input, as `curl` in `curl … | cat > f`.
    let sources: [WriterProcess]
    private let watched: WatchedProcess
    private let state: Lock<State>

    /// - Throws: Errors of pidfd_open(2).
    init(
        _ process: pid_t, _ program: WriterProgram, _ executable: String?, sources: [WriterProcess]
    ) throws(SystemError) {
        self.process = process
        self.sources = sources
        watched = try WatchedProcess(process)
        state = Lock(State(program: program, executable: executable))
    }

    var program: WriterProgram { state.withLock { $0.program } }
    /// Nil while the process runs.
    var outcome: ProcessOutcome? { watched.outcome }
    /// Time when the exit was noticed.
    var end: ContinuousClock.Instant? { watched.end }
    var lastFailedRead: ContinuousClock.Instant? { state.withLock { $0.lastFailedRead } }
    /// The resuming program that started the process, as yt-dlp starts ffmpeg; nil for others.
    var parent: WriterProcess? { state.withLock { $0.parent } }

    /// Replaces the program if the process has called execve(2) since it was found. Returns false if it has not.
    func changed(to executable: String, _ program: () -> WriterProgram) -> Bool {
        state.withLock { state in
            guard state.executable != executable else { return false }
            (state.executable, state.program) = (executable, program())
            return true
        }
    }

    /// Replaces the program found by the executable's name, unless the process has executed another one since.
    func isKnown(as program: WriterProgram, by executable: String) {
        state.withLock { if $0.executable == executable { $0.program = program } }
    }
    func isStarted(by program: WriterProcess) { state.withLock { $0.parent = program } }
    func noteFailedRead() { state.withLock { $0.lastFailedRead = .now } }

    /// As in `WatchedProcess`.
    func whenEnded(_ draft: Int64, _ body: @escaping @Sendable () -> Void) { watched.whenEnded(draft, body) }
}

extension WriterProcess {
    /// The processes at the beginnings of the pipelines that end at these.
    static func sources(of writers: [WriterProcess]) -> [WriterProcess] {
        var found: [WriterProcess] = []
        var next = writers.flatMap(\.sources)
        while let source = next.popLast() {
            if found.contains(where: { $0 === source }) { continue }
            found.append(source)
            next += source.sources
        }
        return found
    }

    /// Nil if the end of the process says nothing about its output: a reader that has enough ends it by SIGPIPE, and the
    /// statuses of other programs than copy and transfer programs may be results.
    var evidenceOfSource: WriterEvidence? {
        let program = program
        switch outcome {
        case .signalled(SIGPIPE), .unknown, nil: return nil
        case .exited where program.kind.isUnknown: return nil
        case .signalled, .exited: return WriterEvidence(program: program, outcome: outcome)
        }
    }
}

/// The processes that write drafts, by thread number. Reads proc(5) but waits for no other process.
/// Thread-safe.
final class WriterRegistry: Sendable {
    private struct Entry {
        weak var writer: WriterProcess?
    }

    private struct State {
        var entries: [pid_t: Entry] = [:]
        /// Kept because they may open the next draft.
        var failed: [WriterProcess] = []
    }

    private let policy: WriterPolicy
    private let state = Lock(State())

    /// Their own, because a command line may not be readable before another request of this mount is answered.
    private static let threads = ThreadPool(name: "identifying", threads: 2)
    private static let maxEntries = 1024
    private static let maxFailed = 64

    init(_ policy: WriterPolicy) { self.policy = policy }

    /// Returns the process of `thread`, which must be waiting for a reply. Returns nil if the kernel does not
    /// report the thread or the process cannot be watched.
    func writer(of thread: pid_t) -> WriterProcess? {
        writer(of: thread, endOf: [])
    }

    /// - Parameter pipeline: The processes that read its output.
    private func writer(of thread: pid_t, endOf pipeline: [pid_t]) -> WriterProcess? {
        guard thread > 0 else { return nil }
        if let known = known(thread) { return known }
        guard let status = ThreadStatus(of: thread) else { return nil }
        if let known = known(status.process) {
            add(known, thread)
            return known
        }
        let executable = RunningProgram.executable(of: status.process)
        let caller = Caller(executable: executable ?? status.name)
        let pipeline = pipeline + [status.process]
        let sources = ProcessPipes.writers(intoInputOf: status.process)
            .filter { !pipeline.contains($0) }.compactMap { writer(of: $0, endOf: pipeline) }
        guard
            let writer = try? WriterProcess(
                status.process, policy.program(caller), executable, sources: sources)
        else { return nil }
        if caller.needsArguments { identify(writer) }
        if writer.program.kind.isUnknown { identifyParent(of: writer, status.parent) }
        add(writer, status.process)
        if thread != status.process { add(writer, thread) }
        if !pipeline.dropLast().isEmpty, writer.program.mayExecute { identifyLater(writer) }
        return writer
    }

    /// Finds the program of a pipeline's beginning, which a shell has just forked.
    private func identifyLater(_ writer: WriterProcess) {
        Task { [weak self, weak writer] in
            for wait in [2, 5, 10, 20, 50, 100] {
                try? await Task.sleep(for: .milliseconds(wait))
                guard let self, let writer, writer.program.mayExecute else { return }
                await Self.threads.run { self.identifyAgain(writer) }
            }
        }
    }

    /// Finds the program again after execve(2), as in `sh -c 'echo a; exec curl …' > f`.
    func identifyAgain(_ writer: WriterProcess) {
        guard let executable = RunningProgram.executable(of: writer.process) else { return }
        let caller = Caller(executable: executable)
        if writer.changed(to: executable, { policy.program(caller) }), caller.needsArguments {
            identify(writer)
        }
    }

    /// Records a failed read of a file of this mount.
    func noteFailedRead(by writer: WriterProcess) {
        writer.noteFailedRead()
        state.withLock { state in
            state.failed.removeAll { $0 === writer }
            state.failed.append(writer)
            if state.failed.count > Self.maxFailed { state.failed.removeFirst() }
        }
    }

    private func known(_ number: pid_t) -> WriterProcess? {
        guard let writer = state.withLock({ $0.entries[number]?.writer }) else { return nil }
        // The numbers of an ended process may be reused.
        return writer.outcome == nil ? writer : nil
    }

    private func add(_ writer: WriterProcess, _ number: pid_t) {
        state.withLock { state in
            if state.entries.count >= Self.maxEntries {
                state.entries = state.entries.filter { $0.value.writer != nil }
                if state.entries.count >= Self.maxEntries { state.entries = [:] }
            }
            state.entries[number] = Entry(writer: writer)
        }
    }

    /// Reads the command line from the process's memory, which may block.
    private func identify(_ writer: WriterProcess) {
        let process = writer.process
        Self.threads.submit { [policy, weak writer] in
            guard let writer, writer.outcome == nil, let caller = Caller(of: process) else { return }
            writer.isKnown(as: policy.program(caller), by: caller.executable)
        }
    }

    /// Looks for a resuming parent.
    private func identifyParent(of writer: WriterProcess, _ parent: pid_t) {
        guard parent > 1 else { return }
        let process = writer.process
        Self.threads.submit { [self, weak writer] in
            guard let writer, let caller = Caller(of: parent) else { return }
            let program = policy.program(caller)
            guard program.kind == .resuming, let resuming = self.writer(of: parent) else { return }
            resuming.isKnown(as: program, by: caller.executable)
            // The number of an ended parent may be reused.
            if ThreadStatus(of: process)?.parent == parent { writer.isStarted(by: resuming) }
        }
    }
}
