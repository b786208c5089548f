import Base
import Posix

/// The client of a connection on which no request is ever broken off: one that is cancelled, late or whose sink throws
/// is answered at once, and what still comes of its answer is dropped. For a peer that ends the whole connection where
/// a stream is reset.
public final class DrainingClient: Sendable {
    /// Makes the body of a request when its stream is opened. Called on the connection's thread, in the order in which
    /// streams are opened; cancelled before that, a request makes none.
    public typealias BodyMaker = @Sendable () throws -> any BodySource

    let connection: ClientConnection
    private let silence = Lock(false)

    init(wakeUp: WakeUp) { connection = ClientConnection(wakeUp: wakeUp) }

    /// Whether requests can still be made.
    public var isOpen: Bool { connection.isOpen }

    /// Whether the peer has sent nothing for a while, although it was asked. It may be asleep and come back.
    public var isSilent: Bool { silence.withLock { $0 } }

    func note(isSilent: Bool) { silence.withLock { $0 = isSilent } }

    /// Sends one POST and gives the body of the answer to `sink`; returns when the answer is complete. `sink` is not used
    /// after this returned or threw. The body may be: what was announced of it has to be sent.
    /// - Parameter patience: the longest that nothing of the request or the answer may move, for as long as it takes.
    /// - Throws: `.closed`, also where the peer gave up the request; `.timeout`, `.cancelled`, `.protocolViolation`; what
    ///   the sink throws, as the cause of `.body` unless it is a `NetworkError`. A body that throws ends the connection.
    ///   After `.timeout`, `.cancelled` and `.closed` it is not known what the peer did.
    public func send(
        _ body: @escaping BodyMaker, to sink: any BodySink, patience: Duration
    ) async throws(NetworkError) {
        let request = ClientRequest(
            body: LateBody(body), sink: sink, patience: patience)
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                request.begin(continuation)
                connection.add(request)
            }
        } onCancel: {
            connection.cancel(request)
        }
        try outcome.get()
    }

    /// Closes the connection; requests under way fail with `.closed`.
    public func close() { connection.close() }
}

/// A body that is made on the connection's thread, before anything else is asked of it.
final class LateBody: BodySource {
    private struct State {
        var maker: DrainingClient.BodyMaker?
        var body: (any BodySource)?
    }

    private let state: Lock<State>

    init(_ maker: @escaping DrainingClient.BodyMaker) { state = Lock(State(maker: maker)) }

    func make() throws {
        let maker = state.withLock { state in
            defer { state.maker = nil }
            return state.maker
        }
        guard let body = try maker?() else { return }
        state.withLock { $0.body = body }
    }

    private var body: (any BodySource)? { state.withLock { $0.body } }

    var length: Int { body?.length ?? 0 }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int { try body?.read(into: buffer) ?? 0 }
}
