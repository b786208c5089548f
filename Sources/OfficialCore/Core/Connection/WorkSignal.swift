/// Wakes one waiting task. Several calls before it runs count as one.
struct WorkSignal: Sendable {
    /// For one listener.
    let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    func notify() { continuation.yield() }

    /// Ends the listener's stream.
    func finish() { continuation.finish() }
}
