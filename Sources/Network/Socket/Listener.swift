import Base
import CLinux
import Glibc
import Posix

/// Accepts connections on a port and serves each on its own thread, up to a limit.
final class Listener: Sendable {
    private struct State {
        var connections: [Int: WakeUp] = [:]
        /// The number of connections by address.
        var counts: [PeerAddress: Int] = [:]
        /// The connections ended since memory was returned, and the time of the next return.
        var ended = 0
        var giveBack: Deadline?
        var next = 0
        var isStopping = false
        /// Open connections continue.
        var takesNoMore = false
        var isAccepting = true

        var hasEnded: Bool { !isAccepting && connections.isEmpty }
    }

    /// Serves one connection on its thread, and returns when it is closed. The event is set when the listener stops.
    typealias Service = @Sendable (Socket, PeerAddress, WakeUp, Listener) -> Void

    /// The maximum number of open connections.
    struct Limits {
        /// Further ones are closed at once.
        var connections: Int
        /// The same for one address.
        var connectionsOfPeer: Int
    }

    /// The listening address with the assigned port.
    let endpoint: Endpoint
    private let socket: Socket
    private let servingThread: String
    private let limits: Limits
    private let serve: Service
    private let wakeUp: WakeUp
    private let state = Lock(State())
    private let ended = OneTimeEvent()

    /// Listens and starts to accept. A host name may block on a name server, a numeric address does not.
    /// - Parameter threads: The names of the accepting thread and of the serving threads.
    static func start(
        on endpoint: Endpoint, threads: (accepting: String, serving: String), limits: Limits,
        serve: @escaping Service
    ) throws(NetworkError) -> Listener {
        let listener = try Listener(
            on: endpoint, servingThread: threads.serving, limits: limits, serve: serve)
        Thread.start(threads.accepting) { listener.accept() }
        return listener
    }

    private init(
        on endpoint: Endpoint, servingThread: String, limits: Limits, serve: @escaping Service
    ) throws(NetworkError) {
        let addresses = try SocketAddress.resolve(endpoint, numericOnly: false, listening: true)
        socket = try Socket.listen(on: addresses)
        self.endpoint = Endpoint(host: endpoint.host, port: socket.localPort())
        self.servingThread = servingThread
        self.limits = limits
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
        await ended.wait()
    }

    var isStopping: Bool { state.withLock { $0.isStopping } }

    /// Stops accepting. Open connections continue until `stop`.
    func takeNoMore() {
        state.withLock { $0.takesNoMore = true }
        wakeUp.notify()
    }

    private var takesMore: Bool { state.withLock { !$0.isStopping && !$0.takesNoMore } }

    /// The number of open connections.
    var connectionCount: Int { state.withLock { $0.connections.count } }

    /// Accepts until stopped: the body of the accepting thread.
    private func accept() {
        let log = Log("network")
        while takesMore {
            var requests = [socket.descriptor, wakeUp.descriptor].map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            poll(&requests, milliseconds: state.withLock { $0.giveBack }?.milliseconds ?? -1)
            if requests[1].revents != 0, takesMore { wakeUp.clear() }
            giveBackMemory()
            do throws(NetworkError) {
                while takesMore, let accepted = try socket.accept() { begin(accepted) }
            } catch {
                // Without descriptors or memory, other connections must end first.
                log.warning("connections not accepted, retrying: error=\(error.sentence)")
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
            // Without descriptors, the client sees a closed connection, as above the limit.
            return Log("network").warning("connection refused: error=\(error.sentence)")
        }
        let peer = socket.peer
        let number: Int? = state.withLock { state in
            guard state.connections.count < limits.connections,
                state.counts[peer] ?? 0 < limits.connectionsOfPeer, !state.isStopping, !state.takesNoMore
            else { return nil }
            state.next += 1
            state.connections[state.next] = wakeUp
            state.counts[peer, default: 0] += 1
            return state.next
        }
        guard let number else { return }
        do throws(SystemError) {
            try Thread.begin(servingThread) { [self] in
                serve(socket, peer, wakeUp, self)
                end(number, of: peer)
            }
        } catch {
            // Without a thread the connection is closed, and the client retries.
            end(number, of: peer)
        }
    }

    private func end(_ number: Int, of peer: PeerAddress) {
        leave { state in
            state.connections[number] = nil
            state.counts[peer, default: 1] -= 1
            if state.counts[peer] == 0 { state.counts[peer] = nil }
            state.ended += 1
        }
    }

    // MARK: - Memory

    /// The number of ended connections after which their memory is returned at once, and the delay otherwise.
    private static let manyEnded = 64
    private static let untilGivenBack = Duration.seconds(5)

    /// Makes the allocator return the memory of ended connections, which it would keep. Under a flood of connections
    /// that costs some milliseconds per 64 of them.
    private func giveBackMemory() {
        let isDue = state.withLock { state in
            guard state.giveBack?.hasPassed == true || state.ended >= Self.manyEnded else { return false }
            state.ended = 0
            state.giveBack = nil
            return true
        }
        if isDue { chatfs_give_back_memory() }
    }

    /// Ends a thread; the last one lets `stop` return.
    private func leave(_ change: (inout State) -> Void) {
        let (hasEnded, isNoticed) = state.withLock { state in
            change(&state)
            let isNoticed = state.ended > 0 && (state.giveBack == nil || state.ended == Self.manyEnded)
            if isNoticed, state.giveBack == nil { state.giveBack = Deadline(after: Self.untilGivenBack) }
            return (state.hasEnded, isNoticed)
        }
        if isNoticed { wakeUp.notify() }
        if hasEnded { ended.happen() }
    }
}

extension WakeUp {
    /// As `init`, with this module's error.
    static func orExhausted() throws(NetworkError) -> WakeUp {
        do throws(SystemError) {
            return try WakeUp()
        } catch {
            throw NetworkError(.exhausted, error.sentence, cause: error)
        }
    }
}
