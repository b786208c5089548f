import Base

/// Settings of a `WebSocketTransport`. Tests shorten the times.
public struct WebSocketTransportSettings: Sendable {
    public var connectTimeout: Duration = .seconds(10)
    public var retry = RetryPolicy(first: .milliseconds(100), maxDelay: .seconds(5), tries: .max)

    public init() {}
}
