import Base
import SMP

/// Unsolicited transmissions until the listener takes them. Bounded: a fixed number of messages per server, and only
/// those other events that still apply.
final class EventMailbox: Sendable {
    fileprivate struct State {
        var events: [QueueServerEvent] = []
        /// The number of messages by server.
        var messages: [ServerAddress: Int] = [:]
        /// Servers that were refused capacity.
        var starved: Set<ServerAddress> = []
        var waiters: [(number: UInt64, continuation: CheckedContinuation<QueueServerEvent?, Never>)] = []
        var lastNumber: UInt64 = 0
        var isFinished = false
    }

    private let state = Lock(State())
    /// The maximum number of waiting messages per server, each up to 16 KiB.
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    /// The number of waiting messages.
    var messageCount: Int { state.withLock { $0.messages.values.reduce(0, +) } }

    /// Adds a message. Returns false without capacity.
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

    /// Adds another event.
    func tell(_ event: QueueServerEvent) {
        let waiter = state.withLock { state -> CheckedContinuation<QueueServerEvent?, Never>? in
            if !state.waiters.isEmpty { return state.waiters.removeFirst().continuation }
            state.events.append(event)
            return nil
        }
        waiter?.resume(returning: event)
    }

    /// Removes the undelivered messages of a lost connection. They come again and can no longer be acknowledged.
    func disconnected(_ server: ServerAddress) {
        state.withLock { state in
            state.events.removeAll { $0.isOutdated(byTheEndOf: server) }
            state.messages[server] = nil
            state.starved.remove(server)
        }
        tell(.disconnected(server))
    }

    /// Returns whether a server that was refused capacity has some now. The next refusal counts anew.
    func hasRoom(for server: ServerAddress) -> Bool {
        state.withLock { state in
            guard state.messages[server, default: 0] <= capacity / 2 else { return false }
            state.starved.remove(server)
            return true
        }
    }

    /// Returns the next event, and its server if that was refused capacity and has some now. Returns nil at the end, or
    /// if the task is cancelled.
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

    /// Ends the mailbox.
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
