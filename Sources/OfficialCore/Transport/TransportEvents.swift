import Base

/// The event stream of a transport. Events before the first listener are kept.
final class TransportEvents: Sendable {
    private struct State {
        var continuation: AsyncStream<TransportEvent>.Continuation
        /// The first stream, until it is requested.
        var waiting: AsyncStream<TransportEvent>?
        var isFinished = false
    }

    private let state: Lock<State>

    init() {
        let (stream, continuation) = AsyncStream.makeStream(of: TransportEvent.self)
        state = Lock(State(continuation: continuation, waiting: stream))
    }

    func tell(_ event: TransportEvent) {
        let continuation = state.withLock { $0.continuation }
        continuation.yield(event)
    }

    /// Returns the stream. A second call ends the first stream.
    func stream() -> AsyncStream<TransportEvent> {
        let (next, continuation) = AsyncStream.makeStream(of: TransportEvent.self)
        let (given, ended) = state.withLock { state in
            if let waiting = state.waiting {
                state.waiting = nil
                return (waiting, continuation)
            }
            let previous = state.continuation
            state.continuation = continuation
            return (next, state.isFinished ? continuation : previous)
        }
        ended.finish()
        return given
    }

    func finish() {
        let continuation = state.withLock { state in
            state.isFinished = true
            return state.continuation
        }
        continuation.finish()
    }
}
