import Base
import Posix

/// A pending request: the data for the connection's thread, and the continuation of its task.
final class ClientRequest: Sendable {
    typealias Outcome = Result<Void, NetworkError>

    let body: any BodySource
    let sink: any BodySink
    let deadline: Deadline
    /// The maximum time without progress, if that replaces the deadline.
    let timeout: Duration
    private let state = Lock<(waiter: CheckedContinuation<Outcome, Never>?, isCancelled: Bool)>((nil, false))

    init(body: any BodySource, sink: any BodySink, deadline: Deadline) {
        self.body = body
        self.sink = sink
        self.deadline = deadline
        timeout = .zero
    }

    init(body: any BodySource, sink: any BodySink, timeout: Duration) {
        self.body = body
        self.sink = sink
        self.timeout = timeout
        deadline = Deadline(after: timeout)
    }

    func begin(_ continuation: CheckedContinuation<Outcome, Never>) {
        state.withLock { $0.waiter = continuation }
    }

    /// Whether its task was cancelled.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func markCancelled() { state.withLock { $0.isCancelled = true } }

    /// Resumes the task. Only the first call has an effect.
    func finish(_ outcome: Outcome) {
        let waiting = state.withLock { state in
            defer { state.waiter = nil }
            return state.waiter
        }
        waiting?.resume(returning: outcome)
    }
}

/// The state shared by tasks and the connection's thread: waiting requests, and whether to close.
final class ClientConnection: Sendable {
    private struct State {
        var added: [ClientRequest] = []
        var isClosing = false
        /// Set by the thread at its end: no further requests are taken.
        var failure: NetworkError?
        var isGoingAway = false
    }

    let wakeUp: WakeUp
    private let state = Lock(State())

    init() throws(NetworkError) {
        wakeUp = try WakeUp.orExhausted()
    }

    /// - Parameter wakeUp: The event on which the thread waits.
    init(wakeUp: WakeUp) { self.wakeUp = wakeUp }

    var isOpen: Bool {
        state.withLock { !$0.isClosing && $0.failure == nil && !$0.isGoingAway }
    }

    /// Sends the request and waits for its end. Cancels it with its task.
    func perform(_ request: ClientRequest) async throws(NetworkError) {
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                request.begin(continuation)
                add(request)
            }
        } onCancel: {
            cancel(request)
        }
        try outcome.get()
    }

    private func add(_ request: ClientRequest) {
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

    /// Cancels the request, before or after it was added.
    private func cancel(_ request: ClientRequest) {
        request.markCancelled()
        wakeUp.notify()
    }

    func close() {
        state.withLock { $0.isClosing = true }
        wakeUp.notify()
    }

    static let cancelledError = NetworkError(.cancelled, "The request was cancelled.")

    // MARK: Connection thread

    /// Returns the requests added since the last call; `closing` if the connection must end.
    func take() -> (added: [ClientRequest], closing: Bool) {
        state.withLock { state in
            defer { state.added = [] }
            return (state.added, state.isClosing)
        }
    }

    func goesAway() { state.withLock { $0.isGoingAway = true } }

    /// Ends taking requests. Fails those that were never taken.
    func end(_ failure: NetworkError) -> [ClientRequest] {
        state.withLock { state in
            state.failure = failure
            defer { state.added = [] }
            return state.added
        }
    }
}
