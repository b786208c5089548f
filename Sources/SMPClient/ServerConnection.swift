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
        /// Nothing goes over the network until it is not.
        var isSuspended = false
        var networkChanged = false
        /// The listener has taken some of what was delivered.
        var hasRoom = false

        /// What stays when the rest was taken.
        var lasting: Work { Work(isStopping: isStopping, isSuspended: isSuspended) }
    }

    private struct State {
        var work = Work()
        var hasThread = false
        /// Nobody needed it, and another one takes its place.
        var isForgotten = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var handing: HandingOn?
        var isOwn = false
    }

    let server: ServerAddress
    let settings: ConnectionSettings
    let mailbox: EventMailbox
    /// Rung when there is work.
    let wakeUp: WakeUp
    /// Rung once, at the end.
    let stop: WakeUp
    private let state: Lock<State>
    let outages: ServerOutages
    private let whenForgotten: @Sendable (ServerConnection) -> Void

    init(
        _ server: ServerAddress, settings: ConnectionSettings, mailbox: EventMailbox, isSuspended: Bool,
        outages: ServerOutages, whenForgotten: @escaping @Sendable (ServerConnection) -> Void
    ) throws(SystemError) {
        self.server = server
        self.settings = settings
        self.mailbox = mailbox
        self.outages = outages
        self.whenForgotten = whenForgotten
        state = Lock(State(work: Work(isSuspended: isSuspended)))
        wakeUp = try WakeUp()
        stop = try WakeUp()
    }

    static let closed = SMPError(.disconnected, "The connections to messaging servers are closed.")

    static let suspended = SMPError(.unreachable, "The connections to messaging servers are suspended.")

    /// Any thread; never blocks. Every entry gets one answer, or false is returned: this one was forgotten.
    func ask(_ entries: [Entry]) -> Bool {
        let (isRefused, isForgotten) = state.withLock { state in
            if state.isForgotten { return (false, true) }
            if entries.contains(where: \.request.isOfOwnQueue) { state.isOwn = true }
            if !state.work.isStopping { state.work.entries += entries }
            return (state.work.isStopping, false)
        }
        if isForgotten { return false }
        if isRefused {
            for entry in entries { entry.answer(.failure(Self.closed)) }
            return true
        }
        beginThread()
        wakeUp.notify()
        return true
    }

    /// Closes the connection, if there is one, and makes none before `resume`.
    func suspend() { note { $0.isSuspended = true } }

    func resume() {
        note { work in
            work.isSuspended = false
            work.networkChanged = true
        }
    }

    /// The network is another one, or is there again.
    func networkChanged() { note { $0.networkChanged = true } }

    /// The listener has taken some of what was delivered.
    func hasRoom() { note { $0.hasRoom = true } }

    private func note(_ change: (inout Work) -> Void) {
        state.withLock { change(&$0.work) }
        wakeUp.notify()
    }

    /// Has the connection closed, whatever is under way.
    func end() {
        note { $0.isStopping = true }
        stop.notify()
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
            let failure = SMPError.exhausted(error)
            for entry in entries { entry.answer(.failure(failure)) }
        }
    }

    /// How something is handed on over the connection that there is now; nil: there is none.
    var handing: HandingOn? { state.withLock { $0.handing } }

    // MARK: The thread

    func become(_ handing: HandingOn?) { state.withLock { $0.handing = handing } }

    var isStopping: Bool { state.withLock { $0.work.isStopping } }

    /// Whether there are queues of this profile.
    var isOwn: Bool { state.withLock { $0.isOwn } }

    /// Whether there is a connection, as somebody is served over it.
    var isEstablished: Bool { state.withLock { $0.handing != nil } }

    func takeWork() -> Work {
        state.withLock { state in
            defer { state.work = state.work.lasting }
            return state.work
        }
    }

    /// Ends the thread where nothing was asked meanwhile. The connection is not used again: who asks next gets another,
    /// so that servers of long ago take nothing.
    func leaveUnused() -> Bool {
        let isUnused = state.withLock { state in
            if state.work.entries.isEmpty { state.isForgotten = true }
            return state.isForgotten
        }
        guard isUnused else { return false }
        _ = leave { _ in true }
        whenForgotten(self)
        return true
    }

    /// Ends the thread, if `mayLeave` still thinks so of what has come meanwhile; answers that.
    func leave(_ mayLeave: (Work) -> Bool) -> Work? {
        let left = state.withLock { state -> (Work, [CheckedContinuation<Void, Never>])? in
            guard mayLeave(state.work) else { return nil }
            state.hasThread = false
            defer {
                state.work = state.work.lasting
                state.waiting = []
            }
            return (state.work, state.waiting)
        }
        for continuation in left?.1 ?? [] { continuation.resume() }
        return left?.0
    }
}

extension SMPError {
    /// This machine has no descriptor, thread or memory for a connection: no server is to blame.
    static func exhausted(_ cause: some DescribedError) -> SMPError {
        SMPError(
            .unreachable,
            "No connection to a messaging server can be made on this machine: \(cause.sentence)", cause: cause
        )
    }
}
