import Posix
import Synchronization

/// An HTTP/2 client that never aborts a request. A cancelled, late or failed request returns at once, and the rest of
/// its answer is dropped. For peers that close the connection when a stream is reset.
public final class DrainingClient: Sendable {
    /// Creates the body of a request when its stream opens. Called on the connection's thread in the order of streams;
    /// never called if the request was cancelled before.
    public typealias BodyMaker = @Sendable () throws -> any BodySource

    let connection: ClientConnection
    private let silence = Atomic(false)

    init(wakeUp: WakeUp) { connection = ClientConnection(wakeUp: wakeUp) }

    /// Whether requests can still be sent.
    public var isOpen: Bool { connection.isOpen }

    /// Whether the peer has not answered a ping for a while. It may be asleep and return.
    public var isSilent: Bool { silence.load(ordering: .acquiring) }

    func note(isSilent: Bool) { silence.store(isSilent, ordering: .releasing) }

    /// Sends one POST and passes the body of the answer to `sink`; returns when the answer is complete. `sink` is not
    /// used after the return or throw. The body may be, because its announced length must be sent.
    /// - Parameter timeout: The maximum time without progress of the request or the answer.
    /// - Throws: `.closed`, also if the peer gave up the request; `.timeout`, `.cancelled`, `.protocolViolation`; an
    ///   error of the sink as the cause of `.body`, unless it is a `NetworkError`. An error of the body ends the
    ///   connection. After `.timeout`, `.cancelled` and `.closed` the peer may have performed the request.
    public func send(
        _ body: @escaping BodyMaker, to sink: any BodySink, timeout: Duration
    ) async throws(NetworkError) {
        try await connection.perform(ClientRequest(body: LateBody(body), sink: sink, timeout: timeout))
    }

    /// Closes the connection; pending requests fail with `.closed`.
    public func close() { connection.close() }
}

/// A body that is created on the connection's thread at its first use.
final class LateBody: BodySource, @unchecked Sendable {
    // Safe: only the connection's thread accesses the state after `init`.
    private var maker: DrainingClient.BodyMaker?
    private var body: (any BodySource)?

    init(_ maker: @escaping DrainingClient.BodyMaker) { self.maker = maker }

    func make() throws {
        defer { maker = nil }
        if let maker { body = try maker() }
    }

    var length: Int { body?.length ?? 0 }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
        try body?.read(into: buffer, at: offset) ?? 0
    }
}
