/// Wakes one waiting task. Several calls before it runs count as one.
public struct WorkSignal: Sendable {
    /// For one listener.
    public let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    public init() {
        (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    public func notify() { continuation.yield() }

    /// Ends the listener's stream.
    public func finish() { continuation.finish() }
}
