/// Wakes one task that sleeps until there may be something to do. Any number of calls before it looks are one.
struct WorkSignal: Sendable {
    /// For one listener.
    let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    func notify() { continuation.yield() }

    /// The listener's stream ends.
    func finish() { continuation.finish() }
}
