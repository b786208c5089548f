import Base
import CLinux
import Glibc
import Posix

/// A non-blocking TCP socket. Closed with its last reference.
final class Socket: Sendable {
    let descriptor: Int32

    init(adopting descriptor: Int32) { self.descriptor = descriptor }

    deinit { Glibc.close(descriptor) }

    private convenience init(family: Int32) throws(NetworkError) {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, type, 0)
        guard descriptor >= 0 else { throw Socket.failure("make a socket") }
        self.init(adopting: descriptor)
    }

    /// Connects to the first of `addresses` that answers. Cancelled if `stop` is rung.
    static func connect(
        to addresses: [SocketAddress], deadline: Deadline, stop: WakeUp
    ) throws(NetworkError) -> Socket {
        var last = NetworkError(.unreachable, "The host has no address to connect to.")
        for (number, address) in addresses.enumerated() {
            do throws(NetworkError) {
                let share = deadline.share(of: addresses.count - number)
                return try connect(to: address, deadline: share, stop: stop)
            } catch {
                if error.code == .cancelled { throw error }
                last = error
            }
        }
        throw last
    }

    private static func connect(
        to address: SocketAddress, deadline: Deadline, stop: WakeUp
    ) throws(NetworkError) -> Socket {
        let socket = try Socket(family: address.family)
        let result = address.withPointer { Glibc.connect(socket.descriptor, $0, $1) }
        if result != 0 {
            guard errno == EINPROGRESS || errno == EINTR else { throw failure("reach the server") }
            while try !socket.wait(for: Int16(POLLOUT), until: deadline, stop: stop) {
                guard !deadline.hasPassed else {
                    throw NetworkError(.timeout, "The server did not accept a connection in time.")
                }
            }
            var code: Int32 = 0
            var length = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(socket.descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
            guard code == 0 else { throw failure("reach the server", code: code) }
        }
        _ = chatfs_tcp_no_delay(socket.descriptor)
        PeerWatch.begin(on: socket.descriptor, isClient: true)
        return socket
    }

    /// Listens on the first of `addresses` that can be bound.
    static func listen(on addresses: [SocketAddress]) throws(NetworkError) -> Socket {
        var last = NetworkError(.configuration, "There is no address to listen on.")
        for address in addresses {
            do throws(NetworkError) {
                let socket = try Socket(family: address.family)
                var on: Int32 = 1
                setsockopt(
                    socket.descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
                guard address.withPointer({ bind(socket.descriptor, $0, $1) }) == 0,
                    Glibc.listen(socket.descriptor, 128) == 0
                else { throw failure("listen", code: errno, as: .configuration) }
                return socket
            } catch {
                last = error
            }
        }
        throw last
    }

    /// The port assigned by the kernel.
    func localPort() -> UInt16 {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                getsockname(descriptor, address, &length) == 0
                    ? SocketAddress(address, length: length).port : 0
            }
        }
    }

    /// Returns the next waiting connection, or nil if there is none.
    func accept() throws(NetworkError) -> Socket? {
        let descriptor = chatfs_accept(descriptor)
        if descriptor >= 0 {
            _ = chatfs_tcp_no_delay(descriptor)
            let socket = Socket(adopting: descriptor)
            PeerWatch.begin(on: socket.descriptor, isClient: false)
            return socket
        }
        switch errno {
        // The peer gave up, or no connection waits.
        case EAGAIN, EINTR, ECONNABORTED, EPROTO, ENETDOWN, EHOSTUNREACH, ENETUNREACH: return nil
        default: throw Socket.failure("accept a connection")
        }
    }

    /// Sends queued bytes as far as the socket accepts them at once. Returns true if nothing is left.
    /// - Parameter failure: The error for the present errno.
    func send(_ queue: ByteQueue, failure: () -> NetworkError) throws(NetworkError) -> Bool {
        while !queue.isEmpty {
            let bytes = queue.bytes
            let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            if count >= 0 {
                queue.removeFirst(count)
            } else if errno == EAGAIN {
                return false
            } else if errno != EINTR {
                throw failure()
            }
        }
        return true
    }

    /// Waits until the socket is ready for `events`. Returns false at the deadline or after a signal. Throws
    /// `.cancelled` if `stop` was rung.
    func wait(for events: Int16, until deadline: Deadline, stop: WakeUp) throws(NetworkError) -> Bool {
        var requests = [
            pollfd(fd: descriptor, events: events, revents: 0),
            pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        poll(&requests, milliseconds: deadline.milliseconds)
        if requests[1].revents != 0 {
            throw NetworkError(.cancelled, "Connecting was given up.")
        }
        return requests[0].revents != 0
    }

    static func failure(
        _ operation: String, code: Int32 = errno, as kind: NetworkErrorCode? = nil
    ) -> NetworkError {
        let cause = SystemError(code: code, operation: operation)
        if let kind { return NetworkError(kind, cause.sentence, cause: cause) }
        switch code {
        case _ where NetworkError.exhaustedNumbers.contains(code):
            return NetworkError(.exhausted, cause.sentence, cause: cause)
        case ETIMEDOUT: return NetworkError(.timeout, cause.sentence, cause: cause)
        case ECONNRESET, EPIPE: return NetworkError(.closed, cause.sentence, cause: cause)
        default: return NetworkError(.unreachable, cause.sentence, cause: cause)
        }
    }
}
