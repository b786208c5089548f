import Base
import CLinux
import Glibc
import Posix

/// Waits on a socket for processes of the same user and gives each connection a thread of its own. Any thread.
final class SocketListener: Sendable {
    private struct State {
        var isStopped = false
        /// Connections that are being served.
        var open: [ObjectIdentifier: OpenFile] = [:]
    }

    private let folder: OpenFile
    private let name: String
    private let socket: OpenFile
    private let limit: Int
    private let serve: @Sendable (OpenFile) -> Void
    private let wakeUp: WakeUp
    private let state = Lock(State())

    /// Listens from now on.
    /// - Parameters:
    ///   - folder: where the socket is made, see `ControlSocket`; one of this name is replaced.
    ///   - threads: the names of the thread that waits and of those that serve.
    ///   - limit: connections at once; who comes beyond them is turned away.
    ///   - serve: given each connection, blocks until that is over.
    init(
        in folder: OpenFile, named name: String, threads: (waits: StaticString, serves: StaticString),
        limit: Int, serve: @escaping @Sendable (OpenFile) -> Void
    ) throws(SystemError) {
        self.folder = folder
        self.name = name
        self.limit = limit
        self.serve = serve
        socket = try ControlSocket.listen(in: folder, named: name)
        wakeUp = try WakeUp()
        Thread.start("\(threads.waits)") { self.work("\(threads.serves)") }
    }

    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Hears nobody any longer. Conversations that are going on end by themselves.
    func stop() {
        state.withLock { $0.isStopped = true }
        wakeUp.notify()
        // From here on who connects is refused, also while this object lives on.
        shutdown(socket.descriptor, Int32(SHUT_RDWR))
        unlinkat(folder.descriptor, name, 0)
    }

    /// Ends the conversations that are going on, for both sides.
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
                // It stays in the queue and would be told again at once: for a moment only the end is
                // waited for.
                var end = [requests[1]]
                poll(&end, milliseconds: 100)
            }
        }
    }

    private func welcome(_ connection: OpenFile, _ serving: String) {
        var user: UInt32 = .max
        var process: Int32 = 0
        guard chatfs_peer_credentials(connection.descriptor, &user, &process) == 0, user == geteuid() else {
            return log.warning("a process of another user was turned away")
        }
        let key = ObjectIdentifier(connection)
        let hasCapacity = state.withLock { state in
            guard !state.isStopped, state.open.count < limit else { return false }
            state.open[key] = connection
            return true
        }
        guard hasCapacity else { return log.notice("too many commands at once: one was turned away") }
        do throws(SystemError) {
            try Thread.begin(serving) {
                self.serve(connection)
                self.state.withLock { $0.open[key] = nil }
            }
        } catch {
            state.withLock { $0.open[key] = nil }
            log.warning("a command was turned away: \(error.sentence)")
        }
    }
}
