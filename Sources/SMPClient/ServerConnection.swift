import Base
import Posix
import SMP

/// The queue of requests to one server. A thread for the connection takes them; it exists as long as there is work.
final class ServerConnection: Sendable {
    /// A request and the receiver of its answer.
    struct Entry: Sendable {
        let request: ClientRequest
        let answer: @Sendable (Result<Answer, SMPError>) -> Void
    }

    struct Work {
        var entries: [Entry] = []
        var isStopping = false
        /// While true, nothing is sent.
        var isSuspended = false
        var networkChanged = false
        /// The listener has taken delivered messages.
        var hasRoom = false

        /// The state after the rest was taken.
        var lasting: Work { Work(isStopping: isStopping, isSuspended: isSuspended) }
    }

    private struct State {
        var work = Work()
        /// The end of the thread; nil without one.
        var ended: OneTimeEvent?
        /// The connection was idle and a new object replaces it.
        var isForgotten = false
        var handing: HandingOn?
        var isOwn = false
    }

    let server: ServerAddress
    let settings: ConnectionSettings
    let mailbox: EventMailbox
    /// Rung when there is work.
    let wakeUp: WakeUp
    /// Rung once at the end.
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

    /// Adds requests. Returns false if this object was retired; otherwise each entry gets one answer. Safe to use from
    /// any thread; never blocks.
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

    /// Closes the connection and opens none before `resume`.
    func suspend() { note { $0.isSuspended = true } }

    func resume() {
        note { work in
            work.isSuspended = false
            work.networkChanged = true
        }
    }

    /// Notes a network change.
    func networkChanged() { note { $0.networkChanged = true } }

    /// Notes that the listener has taken delivered messages.
    func hasRoom() { note { $0.hasRoom = true } }

    private func note(_ change: (inout Work) -> Void) {
        state.withLock { change(&$0.work) }
        wakeUp.notify()
    }

    /// Closes the connection, even with pending requests.
    func end() {
        note { $0.isStopping = true }
        stop.notify()
    }

    /// Closes the connection and returns when its thread has ended.
    func close() async {
        end()
        await state.withLock { $0.ended }?.wait()
    }

    private func beginThread() {
        let isMissing = state.withLock { state in
            guard state.ended == nil else { return false }
            state.ended = OneTimeEvent()
            return true
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

    /// Returns the forwarding state of the current connection, or nil if there is none.
    var handing: HandingOn? { state.withLock { $0.handing } }

    // MARK: Thread

    func become(_ handing: HandingOn?) { state.withLock { $0.handing = handing } }

    var isStopping: Bool { state.withLock { $0.work.isStopping } }

    /// Whether the server has queues of this profile.
    var isOwn: Bool { state.withLock { $0.isOwn } }

    /// Whether the connection is open.
    var isEstablished: Bool { state.withLock { $0.handing != nil } }

    func takeWork() -> Work {
        state.withLock { state in
            defer { state.work = state.work.lasting }
            return state.work
        }
    }

    /// Ends the thread if no request came meanwhile. This object is then retired, and the next request uses a new one,
    /// so unused servers need no resources.
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

    /// Ends the thread if `mayLeave` agrees about the new state. Returns whether it ended.
    func leave(_ mayLeave: (Work) -> Bool) -> Work? {
        let left = state.withLock { state -> (work: Work, ended: OneTimeEvent?)? in
            guard mayLeave(state.work) else { return nil }
            defer {
                state.work = state.work.lasting
                state.ended = nil
            }
            return (state.work, state.ended)
        }
        left?.ended?.happen()
        return left?.work
    }
}

extension SMPError {
    /// This machine lacks descriptors, threads or memory. The server is not at fault.
    static func exhausted(_ cause: some DescribedError) -> SMPError {
        SMPError(
            .unreachable,
            "No connection to a messaging server can be made on this machine: \(cause.sentence)", cause: cause
        )
    }
}
