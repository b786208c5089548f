import Base
import CLinux
import Glibc
import Posix

/// Accepts connections of the same user on a socket and serves each on a thread of its own. Thread-safe.
final class SocketListener: Sendable {
    private struct State {
        var isStopped = false
        /// Connections being served.
        var open: [ObjectIdentifier: OpenFile] = [:]
    }

    private let folder: OpenFile
    private let name: String
    private let socket: OpenFile
    private let limit: Int
    private let serve: @Sendable (OpenFile) -> Void
    private let wakeUp: WakeUp
    private let state = Lock(State())

    /// Starts listening.
    /// - Parameters:
    ///   - folder: Directory of the socket, see `ControlSocket`; a socket of the same name is replaced.
    ///   - threads: Names of the listening thread and the serving threads.
    ///   - limit: Maximum number of connections; others are closed at once.
    ///   - serve: Serves a connection; blocks until it ends.
    /// - Throws: `.system`.
    init(
        in folder: OpenFile, named name: String, threads: (waits: StaticString, serves: StaticString),
        limit: Int, serve: @escaping @Sendable (OpenFile) -> Void
    ) throws(DesktopError) {
        self.folder = folder
        self.name = name
        self.limit = limit
        self.serve = serve
        do throws(SystemError) {
            socket = try ControlSocket.listen(in: folder, named: name)
            wakeUp = try WakeUp()
        } catch {
            throw DesktopError(error)
        }
        Thread.start("\(threads.waits)") { self.work("\(threads.serves)") }
    }

    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Stops listening. Running conversations end by themselves.
    func stop() {
        state.withLock { $0.isStopped = true }
        wakeUp.notify()
        // Refuses connections from here on, even while this object lives.
        shutdown(socket.descriptor, Int32(SHUT_RDWR))
        unlinkat(folder.descriptor, name, 0)
    }

    /// Shuts all connections down.
    func hangUp() {
        for connection in state.withLock({ Array($0.open.values) }) {
            shutdown(connection.descriptor, Int32(SHUT_RDWR))
        }
    }

    private func work(_ serving: String) {
        while !isStopped {
            var requests = [
                pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            poll(&requests, milliseconds: -1)
            let descriptor = chatfs_accept(socket.descriptor)
            if descriptor >= 0 {
                welcome(OpenFile(adopting: descriptor), serving)
            } else if [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(errno) {
                // The connection stays in the queue and poll would return at once, so wait for the end signal only.
                var end = [requests[1]]
                poll(&end, milliseconds: 100)
            }
        }
    }

    private func welcome(_ connection: OpenFile, _ serving: String) {
        var user: UInt32 = .max
        var process: Int32 = 0
        guard chatfs_peer_credentials(connection.descriptor, &user, &process) == 0, user == geteuid() else {
            return log.warning("connection refused: reason=other-user")
        }
        let key = ObjectIdentifier(connection)
        let hasCapacity = state.withLock { state in
            guard !state.isStopped, state.open.count < limit else { return false }
            state.open[key] = connection
            return true
        }
        guard hasCapacity else { return log.notice("connection refused: reason=limit") }
        do throws(SystemError) {
            try Thread.begin(serving) {
                self.serve(connection)
                self.state.withLock { $0.open[key] = nil }
            }
        } catch {
            state.withLock { $0.open[key] = nil }
            log.warning("connection refused: error=\(error.sentence)")
        }
    }
}
