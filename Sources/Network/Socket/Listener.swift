import Base
import Glibc
import Posix

/// Takes connections on a port and serves each on a thread of its own, at most so many at once.
final class Listener: Sendable {
    private struct State {
        var connections: [Int: WakeUp] = [:]
        var next = 0
        var isStopping = false
        var isAccepting = true
        var waiting: [CheckedContinuation<Void, Never>] = []

        var hasEnded: Bool { !isAccepting && connections.isEmpty }
    }

    /// Serves one connection, on its thread, and returns when it is closed. The event is set when the listener stops.
    typealias Service = @Sendable (Socket, WakeUp, Listener) -> Void

    /// Where it listens, with the port that the system gave.
    let endpoint: Endpoint
    private let socket: Socket
    private let servingThread: String
    /// Connections at once; further ones are closed at once.
    private let limit: Int
    private let serve: Service
    private let wakeUp: WakeUp
    private let state = Lock(State())

    /// Listens and starts to accept. A host name, unlike a numeric address, may block on a name server.
    /// - Parameter threads: names of the one that accepts, and of those that serve.
    static func start(
        on endpoint: Endpoint, threads: (accepting: String, serving: String), limit: Int,
        serve: @escaping Service
    ) throws(NetworkError) -> Listener {
        let listener = try Listener(
            on: endpoint, servingThread: threads.serving, limit: limit, serve: serve)
        Thread.start(threads.accepting) { listener.accept() }
        return listener
    }

    private init(
        on endpoint: Endpoint, servingThread: String, limit: Int, serve: @escaping Service
    ) throws(NetworkError) {
        let addresses = try SocketAddress.resolve(endpoint, numericOnly: false, listening: true)
        socket = try Socket.listen(on: addresses)
        self.endpoint = Endpoint(host: endpoint.host, port: socket.localPort())
        self.servingThread = servingThread
        self.limit = limit
        self.serve = serve
        wakeUp = try WakeUp.orExhausted()
    }

    /// Closes the listening socket and every connection, and waits until their threads have ended.
    func stop() async {
        let connections = state.withLock { state in
            state.isStopping = true
            return state.connections.values.map { $0 }
        }
        wakeUp.notify()
        for wakeUp in connections { wakeUp.notify() }
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
    var connectionCount: Int { state.withLock { $0.connections.count } }

    /// Accepts until it is stopped: the body of the accepting thread.
    private func accept() {
        let log = Log("network")
        while !isStopping {
            var requests = [socket.descriptor, wakeUp.descriptor].map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            poll(&requests, milliseconds: -1)
            do throws(NetworkError) {
                while !isStopping, let accepted = try socket.accept() { begin(accepted) }
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

    private func begin(_ socket: Socket) {
        let wakeUp: WakeUp
        do throws(SystemError) {
            wakeUp = try WakeUp()
        } catch {
            // Out of descriptors: the client finds a connection that ends, as where there are too many.
            return Log("network").warning("a connection was turned away: \(error.sentence)")
        }
        let number: Int? = state.withLock { state in
            guard state.connections.count < limit, !state.isStopping else { return nil }
            state.next += 1
            state.connections[state.next] = wakeUp
            return state.next
        }
        guard let number else { return }
        do throws(SystemError) {
            try Thread.begin(servingThread) { [self] in
                serve(socket, wakeUp, self)
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
