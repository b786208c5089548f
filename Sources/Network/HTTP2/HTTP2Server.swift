import Base
import Glibc
import Posix

/// Accepts TLS 1.3 and HTTP/2 connections, each on a thread of its own.
public final class HTTP2Server: Sendable {
    /// What a client may cost.
    public struct Limits: Sendable {
        /// Connections at once; further ones are closed at once.
        public var connections = 256
        /// From accepting to the end of the TLS handshake.
        public var handshake: Duration = .seconds(30)
        /// From a request's headers to the end of its body. The official relay gives a chunk as long.
        public var request: Duration = .seconds(300)
        /// How long a client may refuse to take more of an answer.
        public var stall: Duration = .seconds(120)
        /// How long a connection may stay without requests.
        public var idle: Duration = .seconds(1800)

        public init() {}
    }

    private struct State {
        var connections: [Int: WakeUp] = [:]
        var next = 0
        var isStopping = false
        var isAccepting = true
        var waiting: [CheckedContinuation<Void, Never>] = []

        var hasEnded: Bool { !isAccepting && connections.isEmpty }
    }

    /// Where it listens, with the port that the system gave.
    public let endpoint: Endpoint
    private let socket: Socket
    private let context: TLSContext
    private let applicationProtocols: [String]
    private let limits: Limits
    private let handler: any HTTP2ServerHandler
    private let wakeUp: WakeUp
    private let state = Lock(State())

    /// Listens and starts to accept. A host name, unlike a numeric address, may block on a name server.
    public static func start(
        on endpoint: Endpoint, tls: TLSServerSettings, limits: Limits = Limits(),
        handler: any HTTP2ServerHandler
    ) throws(NetworkError) -> HTTP2Server {
        let server = try HTTP2Server(on: endpoint, tls: tls, limits: limits, handler: handler)
        Thread.start("xftp-accept") { server.accept() }
        return server
    }

    private init(
        on endpoint: Endpoint, tls: TLSServerSettings, limits: Limits, handler: any HTTP2ServerHandler
    ) throws(NetworkError) {
        let addresses = try SocketAddress.resolve(endpoint, numericOnly: false, listening: true)
        socket = try Socket.listen(on: addresses)
        self.endpoint = Endpoint(host: endpoint.host, port: socket.localPort())
        context = try TLSContext(server: tls)
        applicationProtocols = tls.applicationProtocols
        self.limits = limits
        self.handler = handler
        wakeUp = try WakeUp.orExhausted()
    }

    /// Closes the listening socket and every connection, and waits until their threads have ended.
    public func stop() async {
        let connections = state.withLock { state in
            state.isStopping = true
            return state.connections.values.map { $0 }
        }
        wakeUp.ring()
        for wakeUp in connections { wakeUp.ring() }
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.waiting.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    var isStopping: Bool { state.withLock { $0.isStopping } }

    /// Connections that are open now.
    public var connectionCount: Int { state.withLock { $0.connections.count } }

    private func accept() {
        let log = Log("network")
        while !isStopping {
            var requests = [socket.descriptor, wakeUp.descriptor].map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            poll(&requests, milliseconds: -1)
            do throws(NetworkError) {
                while !isStopping, let accepted = try socket.accept() { serve(accepted) }
            } catch {
                // Out of descriptors or memory: others must end first.
                log.warning(error.sentence)
                requests.removeFirst()
                poll(&requests, milliseconds: 200)
            }
        }
        _ = shutdown(socket.descriptor, Int32(SHUT_RDWR))
        leave { $0.isAccepting = false }
    }

    private func serve(_ socket: Socket) {
        let wakeUp: WakeUp
        do throws(SystemError) {
            wakeUp = try WakeUp()
        } catch {
            // Out of descriptors: the client finds a connection that ends, as where there are too many.
            return Log("network").warning("a connection was turned away: \(error.sentence)")
        }
        let number: Int? = state.withLock { state in
            guard state.connections.count < limits.connections, !state.isStopping else { return nil }
            state.next += 1
            state.connections[state.next] = wakeUp
            return state.next
        }
        guard let number else { return }
        do throws(SystemError) {
            try Thread.begin("xftp-serve") { [self] in
                let connection = ServerConnection(
                    server: self, context: context, limits: limits, wakeUp: wakeUp)
                connection.run(socket, applicationProtocols: applicationProtocols, handler: handler)
                leave { $0.connections[number] = nil }
            }
        } catch {
            // Nobody can serve it: it is closed, and the client comes again.
            leave { $0.connections[number] = nil }
        }
    }

    /// A thread ends; the last one lets `stop` return.
    private func leave(_ change: (inout State) -> Void) {
        let waiting = state.withLock { state in
            change(&state)
            guard state.hasEnded else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}

extension WakeUp {
    /// As `init`, with the error of this module.
    static func orExhausted() throws(NetworkError) -> WakeUp {
        do throws(SystemError) {
            return try WakeUp()
        } catch {
            throw NetworkError(.exhausted, error.sentence, cause: error)
        }
    }
}
