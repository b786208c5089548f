import Base
import Posix

/// A request on its way: what the connection's thread needs, and the way back to the waiting task.
final class ClientRequest: Sendable {
    typealias Outcome = Result<Void, NetworkError>

    let body: any BodySource
    let sink: any BodySink
    let deadline: Deadline
    /// The longest that nothing of it may move, where that counts instead of the deadline.
    let patience: Duration
    private let state = Lock<(waiter: CheckedContinuation<Outcome, Never>?, isCancelled: Bool)>((nil, false))

    init(body: any BodySource, sink: any BodySink, deadline: Deadline) {
        self.body = body
        self.sink = sink
        self.deadline = deadline
        patience = .zero
    }

    init(body: any BodySource, sink: any BodySink, patience: Duration) {
        self.body = body
        self.sink = sink
        self.patience = patience
        deadline = Deadline(after: patience)
    }

    func begin(_ continuation: CheckedContinuation<Outcome, Never>) {
        state.withLock { $0.waiter = continuation }
    }

    /// Whether its task was cancelled.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func markCancelled() { state.withLock { $0.isCancelled = true } }

    /// Lets the task go on. Only the first call counts.
    func finish(_ outcome: Outcome) {
        let waiting = state.withLock { state in
            defer { state.waiter = nil }
            return state.waiter
        }
        waiting?.resume(returning: outcome)
    }
}

/// What tasks and the connection's thread share: the requests that wait to be taken, and whether the
/// connection is to end.
final class ClientConnection: Sendable {
    private struct State {
        var added: [ClientRequest] = []
        var isClosing = false
        /// Set by the thread when it has ended: nothing is taken any more.
        var failure: NetworkError?
        var isGoingAway = false
    }

    let wakeUp: WakeUp
    private let state = Lock(State())

    init() throws(NetworkError) {
        wakeUp = try WakeUp.orExhausted()
    }

    /// - Parameter wakeUp: what its thread waits for already.
    init(wakeUp: WakeUp) { self.wakeUp = wakeUp }

    var isOpen: Bool {
        state.withLock { !$0.isClosing && $0.failure == nil && !$0.isGoingAway }
    }

    func add(_ request: ClientRequest) {
        let refusal: NetworkError? = state.withLock { state in
            if let failure = state.failure { return failure }
            if state.isClosing || state.isGoingAway {
                return NetworkError(.closed, "The connection to the relay is closed.")
            }
            state.added.append(request)
            return nil
        }
        if let refusal { request.finish(.failure(refusal)) } else { wakeUp.notify() }
    }

    /// The request's task was cancelled, before or after the request was added.
    func cancel(_ request: ClientRequest) {
        request.markCancelled()
        wakeUp.notify()
    }

    func close() {
        state.withLock { $0.isClosing = true }
        wakeUp.notify()
    }

    static let cancelledError = NetworkError(.cancelled, "The request was cancelled.")

    // MARK: For the connection's thread

    /// The requests added since the last time; `closing` when the connection is to end.
    func take() -> (added: [ClientRequest], closing: Bool) {
        state.withLock { state in
            defer { state.added = [] }
            return (state.added, state.isClosing)
        }
    }

    func goesAway() { state.withLock { $0.isGoingAway = true } }

    /// Ends the taking. Answers the requests that were never taken.
    func end(_ failure: NetworkError) -> [ClientRequest] {
        state.withLock { state in
            state.failure = failure
            defer { state.added = [] }
            return state.added
        }
    }
}
