import Base
import Glibc
import Posix

/// A SOCKS5 proxy (RFC 1928) such as Tor's. Gets host names unresolved.
public struct SOCKSProxy: Hashable, Sendable {
    public let endpoint: Endpoint
    /// Separates traffic that must seem unrelated, such as that of two profiles: at most 255 bytes, seen by the proxy
    /// only.
    public let isolation: String

    public init(_ endpoint: Endpoint, isolation: String = "x") {
        precondition(1...255 ~= isolation.utf8.count, "a SOCKS proxy takes 1 to 255 bytes")
        self.endpoint = endpoint
        self.isolation = isolation
    }

    /// Returns a unique isolation for a profile or a command.
    public static func freshIsolation() -> String { Hexadecimal.encode(SystemRandomSource().bytes(16)) }

    /// Requests a connection to `target` on a socket that is connected to the proxy. Each destination has its own
    /// credentials in each isolation, so Tor uses a circuit of its own for it (IsolateSOCKSAuth).
    func connect(
        _ socket: Socket, to target: Endpoint, deadline: Deadline, stop: WakeUp
    ) throws(NetworkError) {
        let stream = SOCKSStream(socket: socket, deadline: deadline, stop: stop)
        try stream.send([5, 2, 0, 2])
        let choice = try stream.receive(2)
        guard choice[0] == 5 else { throw Self.failure("The server at this address is not a SOCKS5 proxy.") }
        switch choice[1] {
        case 0: break
        case 2: try logIn(stream, for: target)
        default: throw Self.failure("The SOCKS proxy wants a password; none can be given.")
        }
        guard let address = Self.address(of: target) else {
            throw NetworkError(.configuration, "The host's name is too long for a SOCKS proxy.")
        }
        var request: [UInt8] = [5, 1, 0] + address
        request.append(bigEndian: target.port)
        try stream.send(request)
        try readAnswer(stream)
    }

    private func logIn(_ stream: SOCKSStream, for target: Endpoint) throws(NetworkError) {
        let user = Array(target.description.utf8.prefix(255))
        let password = Array(isolation.utf8)
        try stream.send(
            [1, UInt8(user.count)] + user + [UInt8(password.count)] + password)
        guard try stream.receive(2)[1] == 0 else {
            throw Self.failure("The SOCKS proxy refused to serve without a password.")
        }
    }

    /// The kind and bytes of an address; a name stays a name.
    static func address(of target: Endpoint) -> [UInt8]? {
        if let numeric = try? SocketAddress.resolve(target, numericOnly: true).first {
            return (numeric.family == AF_INET ? [1] : [4]) + numeric.hostBytes
        }
        // Tor recognises hidden services by the end of a name.
        let isOnion = Endpoint.isOnion(target.host)
        let name = Array((isOnion ? Endpoint.withoutFinalDots(target.host) : target.host).utf8)
        guard !name.isEmpty, name.count <= 255 else { return nil }
        return [3, UInt8(name.count)] + name
    }

    private func readAnswer(_ stream: SOCKSStream) throws(NetworkError) {
        let head = try stream.receive(4)
        guard head[0] == 5 else { throw Self.failure("The SOCKS proxy sent an invalid answer.") }
        switch head[1] {
        case 0: break
        case 2: throw Self.failure("The SOCKS proxy does not allow this connection.")
        case 3, 4: throw NetworkError(.unreachable, "The SOCKS proxy cannot reach the host.")
        case 5: throw NetworkError(.unreachable, "The host refused the connection from the SOCKS proxy.")
        case 6: throw NetworkError(.timeout, "The SOCKS proxy could not reach the host in time.")
        default: throw NetworkError(.unreachable, "The SOCKS proxy failed to reach the host.")
        }
        // The proxy's source address, which is unused.
        let length: Int
        switch head[3] {
        case 1: length = 4
        case 3: length = Int(try stream.receive(1)[0])
        case 4: length = 16
        default: throw Self.failure("The SOCKS proxy sent an invalid answer.")
        }
        _ = try stream.receive(length + 2)
    }

    private static func failure(_ sentence: String) -> NetworkError { NetworkError(.handshake, sentence) }
}

/// Reads and writes the negotiation. Reads no byte beyond it: the rest belongs to the connection.
private struct SOCKSStream {
    let socket: Socket
    let deadline: Deadline
    let stop: WakeUp

    func send(_ bytes: [UInt8]) throws(NetworkError) {
        var left = bytes[...]
        while !left.isEmpty {
            let count = left.withUnsafeBytes {
                Glibc.send(socket.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 { left = left.dropFirst(count) } else { try wait(for: Int16(POLLOUT)) }
        }
    }

    func receive(_ count: Int) throws(NetworkError) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: count)
        while bytes.count < count {
            let received = recv(socket.descriptor, &buffer, count - bytes.count, 0)
            if received > 0 {
                bytes += buffer.prefix(received)
            } else if received == 0 {
                throw NetworkError(.closed, "The SOCKS proxy closed the connection.")
            } else {
                try wait(for: Int16(POLLIN))
            }
        }
        return bytes
    }

    private func wait(for events: Int16) throws(NetworkError) {
        guard errno == EAGAIN || errno == EINTR else { throw Socket.failure("talk to the SOCKS proxy") }
        guard !deadline.hasPassed else {
            throw NetworkError(.timeout, "The SOCKS proxy did not answer in time.")
        }
        _ = try socket.wait(for: events, until: deadline, stop: stop)
    }
}
