import Base
import SMP

/// What servers send unasked, until the listener takes it. Bounded: a fixed number of messages per server; of other
/// events, only those that still apply.
final class EventMailbox: Sendable {
    fileprivate struct State {
        var events: [QueueServerEvent] = []
        /// Messages among them, by server.
        var messages: [ServerAddress: Int] = [:]
        /// Servers that were refused capacity.
        var starved: Set<ServerAddress> = []
        var waiters: [(number: UInt64, continuation: CheckedContinuation<QueueServerEvent?, Never>)] = []
        var lastNumber: UInt64 = 0
        var isFinished = false
    }

    private let state = Lock(State())
    /// Messages of 16 KiB that may wait, for each server.
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    /// Messages that wait.
    var messageCount: Int { state.withLock { $0.messages.values.reduce(0, +) } }

    /// Takes a message; false when it does not fit.
    func deliver(_ event: QueueServerEvent, of server: ServerAddress) -> Bool {
        let taken = state.withLock { state -> (Bool, CheckedContinuation<QueueServerEvent?, Never>?) in
            if !state.waiters.isEmpty { return (true, state.waiters.removeFirst().continuation) }
            guard state.messages[server, default: 0] < capacity else {
                state.starved.insert(server)
                return (false, nil)
            }
            state.events.append(event)
            state.messages[server, default: 0] += 1
            return (true, nil)
        }
        taken.1?.resume(returning: event)
        return taken.0
    }

    /// Takes whatever is no message.
    func tell(_ event: QueueServerEvent) {
        let waiter = state.withLock { state -> CheckedContinuation<QueueServerEvent?, Never>? in
            if !state.waiters.isEmpty { return state.waiters.removeFirst().continuation }
            state.events.append(event)
            return nil
        }
        waiter?.resume(returning: event)
    }

    /// A connection is gone: what it delivered and nobody has taken comes again, and cannot be acknowledged any more.
    func disconnected(_ server: ServerAddress) {
        state.withLock { state in
            state.events.removeAll { $0.isOutdated(byTheEndOf: server) }
            state.messages[server] = nil
            state.starved.remove(server)
        }
        tell(.disconnected(server))
    }

    /// Whether a server that was refused capacity has some now; the next refusal counts anew.
    func hasRoom(for server: ServerAddress) -> Bool {
        state.withLock { state in
            guard state.messages[server, default: 0] <= capacity / 2 else { return false }
            state.starved.remove(server)
            return true
        }
    }

    /// The next event and the server, if it was refused capacity and has some now; nil at the end, or when the task is
    /// cancelled.
    func next() async -> (event: QueueServerEvent, starved: ServerAddress?)? {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let event = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> QueueServerEvent?? in
                    if Task.isCancelled { return .some(nil) }
                    if let first = state.takeFirst() { return first }
                    if state.isFinished { return .some(nil) }
                    state.waiters.append((number, continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let continuation = state.withLock { state in
                state.waiters.firstIndex { $0.number == number }.map {
                    state.waiters.remove(at: $0).continuation
                }
            }
            continuation?.resume(returning: nil)
        }
        return event.map { event in (event, starvedServer(after: event)) }
    }

    private func starvedServer(after event: QueueServerEvent) -> ServerAddress? {
        guard case .delivered(let server, _, _, _) = event else { return nil }
        return state.withLock { state in
            let hasRoom = state.messages[server, default: 0] <= capacity / 2
            return hasRoom && state.starved.contains(server) ? server : nil
        }
    }

    /// Nothing more comes.
    func finish() {
        let waiters = state.withLock { state in
            state.isFinished = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.continuation.resume(returning: nil) }
    }
}

extension EventMailbox.State {
    fileprivate mutating func takeFirst() -> QueueServerEvent? {
        guard !events.isEmpty else { return nil }
        let event = events.removeFirst()
        if case .delivered(let server, _, _, _) = event { messages[server, default: 1] -= 1 }
        return event
    }
}

extension QueueServerEvent {
    fileprivate func isOutdated(byTheEndOf gone: ServerAddress) -> Bool {
        switch self {
        case .delivered(let server, _, _, _), .connected(let server), .disconnected(let server):
            server == gone
        case .ended, .deleted: false
        }
    }
}
