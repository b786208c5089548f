/// Sends each element to all current listeners. Safe to use from any thread; sending never waits, because unread
/// elements are queued for each listener.
public final class Broadcaster<Element: Sendable>: Sendable {
    private struct State {
        var listeners: [UInt64: AsyncStream<Element>.Continuation] = [:]
        var lastNumber: UInt64 = 0
        var isFinished = false
    }

    private let state = Lock(State())

    public init() {}

    /// Returns a new stream, which lasts until it is dropped or all end. Already ended after `finish`.
    /// - Parameter first: Elements for this listener before all others.
    public func subscribe(first: Element? = nil) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self)
        if let first { continuation.yield(first) }
        let number = state.withLock { state -> UInt64? in
            if state.isFinished { return nil }
            state.lastNumber += 1
            state.listeners[state.lastNumber] = continuation
            return state.lastNumber
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.listeners[number] = nil }
        }
        return stream
    }

    public func send(_ element: Element) {
        let listeners = state.withLock { Array($0.listeners.values) }
        for listener in listeners { listener.yield(element) }
    }

    /// Ends every stream after the elements sent before.
    public func finish() {
        let listeners = state.withLock { state in
            state.isFinished = true
            defer { state.listeners = [:] }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}
