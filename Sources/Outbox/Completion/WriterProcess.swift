import Base
import Glibc
import Posix

/// A process that writes drafts, with a pidfd for its exit status. Thread-safe.
final class WriterProcess: Sendable {
    private struct State {
        var program: WriterProgram
        var lastFailedRead: ContinuousClock.Instant?
        var refusedAttributes = false
        var parent: WriterProcess?
    }

    let process: pid_t
    private let watched: WatchedProcess
    private let state: Lock<State>

    /// - Throws: Errors of pidfd_open(2).
    init(_ process: pid_t, _ program: WriterProgram) throws(SystemError) {
        self.process = process
        watched = try WatchedProcess(process)
        state = Lock(State(program: program))
    }

    var program: WriterProgram { state.withLock { $0.program } }
    /// Nil while the process runs.
    var outcome: ProcessOutcome? { watched.outcome }
    /// Time when the exit was noticed.
    var end: ContinuousClock.Instant? { watched.end }
    var lastFailedRead: ContinuousClock.Instant? { state.withLock { $0.lastFailedRead } }
    var refusedAttributes: Bool { state.withLock { $0.refusedAttributes } }
    /// The resuming program that started the process, as yt-dlp starts ffmpeg; nil for others.
    var parent: WriterProcess? { state.withLock { $0.parent } }

    /// Replaces the program found by the executable's name.
    func isKnown(as program: WriterProgram) { state.withLock { $0.program = program } }
    func isStarted(by program: WriterProcess) { state.withLock { $0.parent = program } }
    func noteFailedRead() { state.withLock { $0.lastFailedRead = .now } }
    func noteRefusedAttributes() { state.withLock { $0.refusedAttributes = true } }

    /// As in `WatchedProcess`.
    func whenEnded(_ draft: Int64, _ body: @escaping @Sendable () -> Void) { watched.whenEnded(draft, body) }
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

    private static let maxEntries = 1024
    private static let maxFailed = 64

    init(_ policy: WriterPolicy) { self.policy = policy }

    /// Returns the process of `thread`, which must be waiting for a reply. Returns nil if the kernel does not
    /// report the thread or the process cannot be watched.
    func writer(of thread: pid_t) -> WriterProcess? {
        guard thread > 0 else { return nil }
        if let known = known(thread) { return known }
        guard let status = ThreadStatus(of: thread) else { return nil }
        if let known = known(status.process) {
            add(known, thread)
            return known
        }
        let caller = Caller(executable: RunningProgram.executable(of: status.process) ?? status.name)
        guard let writer = try? WriterProcess(status.process, policy.program(caller)) else { return nil }
        if caller.needsArguments { identify(writer) }
        if writer.program.kind == .ordinary { identifyParent(of: writer, status.parent) }
        add(writer, status.process)
        if thread != status.process { add(writer, thread) }
        return writer
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

    /// Runs on the pool, because reading the command line from another process's memory may block.
    private func identify(_ writer: WriterProcess) {
        let process = writer.process
        ThreadPool.shared.submit { [policy, weak writer] in
            guard let writer, writer.outcome == nil, let caller = Caller(of: process) else { return }
            writer.isKnown(as: policy.program(caller))
        }
    }

    /// Looks for a resuming parent.
    private func identifyParent(of writer: WriterProcess, _ parent: pid_t) {
        guard parent > 1 else { return }
        let process = writer.process
        ThreadPool.shared.submit { [self, weak writer] in
            guard let writer, let caller = Caller(of: parent) else { return }
            let program = policy.program(caller)
            guard program.kind == .resuming, let resuming = self.writer(of: parent) else { return }
            resuming.isKnown(as: program)
            // The number of an ended parent may be reused.
            if ThreadStatus(of: process)?.parent == parent { writer.isStarted(by: resuming) }
        }
    }
}
