import Base
import Glibc
import Network
import Posix

/// A SOCKS5 server (RFC 1928, 1929) on loopback: connects to the requested host and forwards bytes, with a thread for
/// each direction of each connection.
public final class SOCKSServer: Sendable {
    /// The credentials of a client.
    public struct Login: Hashable, Sendable {
        public let user: String
        public let password: String
    }

    private struct State {
        var targets: [String] = []
        var logins: [Login] = []
        var open: Set<Int32> = []
        var isStopped = false
    }

    public let port: UInt16
    private let listener: Int32
    /// The host names that it resolves, like those of /etc/hosts.
    private let hosts: [String: String]
    private let state = Lock(State())

    /// The requested hosts and ports in order.
    public var targets: [String] { state.withLock { $0.targets } }

    /// The credentials of all clients that sent some, in order.
    public var logins: [Login] { state.withLock { $0.logins } }

    public init(hosts: [String: String] = [:]) throws {
        self.hosts = hosts
        (listener, port) = try LoopbackListener.listen(port: 0)
        Thread.start("socks") { [self] in
            while case let client = accept(listener, nil, nil), client >= 0 {
                guard keep(client) else { return }
                Thread.start("socks-client") { [self] in serve(client) }
            }
        }
    }

    /// Ends it with all connections, as in a crash.
    public func stop() {
        let open = state.withLock { state in
            state.isStopped = true
            return state.open
        }
        for descriptor in open.union([listener]) { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    private func keep(_ descriptor: Int32) -> Bool {
        state.withLock { state in
            if state.isStopped { return false }
            state.open.insert(descriptor)
            return true
        }
    }

    private func serve(_ client: Int32) {
        guard let target = negotiate(client) else { return Self.end(client) }
        state.withLock { $0.targets.append(target.description) }
        let place = Endpoint(host: hosts[target.host] ?? target.host, port: target.port)
        guard let server = Self.connected(to: place), keep(server) else {
            write(client, [5, 5, 0, 1, 0, 0, 0, 0, 0, 0])
            return Self.end(client)
        }
        write(client, [5, 0, 0, 1, 127, 0, 0, 1, 0, 0])
        Thread.start("socks-back") { Self.pump(server, client) }
        Self.pump(client, server)
    }

    private static func end(_ descriptor: Int32) { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Returns the client's target, or nil if it does not speak SOCKS5 or sends another request.
    private func negotiate(_ client: Int32) -> Endpoint? {
        guard let head = read(client, 2), head[0] == 5, let methods = read(client, Int(head[1])) else {
            return nil
        }
        let isNamed = methods.contains(2)
        write(client, [5, isNamed ? 2 : 0])
        if isNamed {
            guard let head = read(client, 2), let user = read(client, Int(head[1])),
                let length = read(client, 1), let password = read(client, Int(length[0]))
            else { return nil }
            let login = Login(
                user: String(decoding: user, as: UTF8.self),
                password: String(decoding: password, as: UTF8.self))
            state.withLock { $0.logins.append(login) }
            write(client, [1, 0])
        }
        guard let request = read(client, 4), request[0] == 5, request[1] == 1 else { return nil }
        let host: String
        switch request[3] {
        case 1:
            guard let bytes = read(client, 4) else { return nil }
            host = bytes.map { "\($0)" }.joined(separator: ".")
        case 3:
            guard let length = read(client, 1), let bytes = read(client, Int(length[0])) else { return nil }
            host = String(decoding: bytes, as: UTF8.self)
        default: return nil
        }
        guard let port = read(client, 2) else { return nil }
        return Endpoint(host: host, port: UInt16(port[0]) << 8 | UInt16(port[1]))
    }

    static func connected(to endpoint: Endpoint) -> Int32? {
        var hints = addrinfo()
        hints.ai_family = AF_INET
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(endpoint.host, "\(endpoint.port)", &hints, &found) == 0, let found else {
            return nil
        }
        defer { freeaddrinfo(found) }
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if connect(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0 { return descriptor }
        close(descriptor)
        return nil
    }

    private func read(_ descriptor: Int32, _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return recv(descriptor, &bytes, count, Int32(MSG_WAITALL)) == count ? bytes : nil
    }

    private func write(_ descriptor: Int32, _ bytes: [UInt8]) {
        send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Passes bytes on until either side ends.
    static func pump(_ from: Int32, _ to: Int32) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = recv(from, &buffer, buffer.count, 0), count > 0 {
            guard send(to, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        end(to)
        end(from)
    }
}
