import Base
import Posix
import SMP

/// One server, as those see it who ask it: requests lie here until the connection's thread takes them, which is there
/// as long as there is something to do.
final class ServerConnection: Sendable {
    /// A request and who is to get its answer.
    struct Entry: Sendable {
        let request: ClientRequest
        let answer: @Sendable (Result<Answer, SMPError>) -> Void
    }

    struct Work {
        var entries: [Entry] = []
        var isStopping = false
        var networkChanged = false
        /// The listener has taken some of what was delivered.
        var hasRoom = false
    }

    private struct State {
        var work = Work()
        var hasThread = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    let server: ServerAddress
    let settings: ConnectionSettings
    let mailbox: EventMailbox
    /// Rung when there is work.
    let wakeUp: WakeUp
    /// Rung once, at the end.
    let stop: WakeUp
    private let state = Lock(State())

    init(
        _ server: ServerAddress, settings: ConnectionSettings, mailbox: EventMailbox
    ) throws(SystemError) {
        self.server = server
        self.settings = settings
        self.mailbox = mailbox
        wakeUp = try WakeUp()
        stop = try WakeUp()
    }

    static let closed = SMPError(.disconnected, "The connections to messaging servers are closed.")

    /// Any thread; never blocks. Every entry gets one answer.
    func ask(_ entries: [Entry]) {
        let isRefused = state.withLock { state in
            if !state.work.isStopping { state.work.entries += entries }
            return state.work.isStopping
        }
        guard !isRefused else {
            for entry in entries { entry.answer(.failure(Self.closed)) }
            return
        }
        beginThread()
        wakeUp.ring()
    }

    /// The network is another one, or is there again.
    func networkChanged() { note { $0.networkChanged = true } }

    /// The listener has taken some of what was delivered.
    func hasRoom() { note { $0.hasRoom = true } }

    private func note(_ change: (inout Work) -> Void) {
        state.withLock { change(&$0.work) }
        wakeUp.ring()
    }

    /// Has the connection closed, whatever is under way.
    func end() {
        note { $0.isStopping = true }
        stop.ring()
    }

    /// The same, and returns when its thread has ended.
    func close() async {
        end()
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if state.hasThread { state.waiting.append(continuation) }
                return !state.hasThread
            }
            if hasEnded { continuation.resume() }
        }
    }

    private func beginThread() {
        let isMissing = state.withLock { state in
            defer { state.hasThread = true }
            return !state.hasThread
        }
        guard isMissing else { return }
        do throws(SystemError) {
            try Thread.begin("smp-client") {
                var thread = ConnectionThread(self)
                thread.run()
            }
        } catch {
            let entries = leave { _ in true }?.entries ?? []
            let failure = SMPError(
                .unreachable, "The messaging server cannot be reached: \(error.sentence)", cause: error)
            for entry in entries { entry.answer(.failure(failure)) }
        }
    }

    // MARK: The thread

    var isStopping: Bool { state.withLock { $0.work.isStopping } }

    func takeWork() -> Work {
        state.withLock { state in
            defer { state.work = Work(isStopping: state.work.isStopping) }
            return state.work
        }
    }

    /// Ends the thread, if `mayLeave` still thinks so of what has come meanwhile; answers that.
    func leave(_ mayLeave: (Work) -> Bool) -> Work? {
        let left = state.withLock { state -> (Work, [CheckedContinuation<Void, Never>])? in
            guard mayLeave(state.work) else { return nil }
            state.hasThread = false
            defer {
                state.work = Work(isStopping: state.work.isStopping)
                state.waiting = []
            }
            return (state.work, state.waiting)
        }
        for continuation in left?.1 ?? [] { continuation.resume() }
        return left?.0
    }
}
