import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Network

@Suite("Network errors and endpoints")
struct NetworkErrorTests {
    @Test(
        "each errno has the error for the caller",
        arguments: [
            (EMFILE, .exhausted), (ENFILE, .exhausted), (ENOBUFS, .exhausted), (ENOMEM, .exhausted),
            (ETIMEDOUT, .timeout), (ECONNRESET, .closed), (EPIPE, .closed), (ECONNREFUSED, .unreachable),
            (EHOSTUNREACH, .unreachable), (EACCES, .unreachable),
        ] as [(Int32, NetworkErrorCode)])
    func codes(number: Int32, code: NetworkErrorCode) {
        let error = Socket.failure("reach the server", code: number)
        #expect(error.code == code)
        #expect(error.cause as? SystemError == SystemError(code: number, operation: "reach the server"))
        #expect(error.sentence.hasPrefix("Could not reach the server: "))
        #expect(Socket.failure("listen", code: number, as: .configuration).code == .configuration)
    }

    @Test("only temporary errors are retried")
    func temporary() {
        let codes: [NetworkErrorCode: Bool] = [
            .nameNotFound: true, .unreachable: true, .timeout: true, .closed: true, .exhausted: true,
            .cancelled: false, .handshake: false, .identity: false, .protocolViolation: false, .body: false,
            .configuration: false,
        ]
        for (code, isTemporary) in codes {
            #expect(NetworkError(code, "").isTemporary == isTemporary, "\(code)")
        }
    }

    @Test(
        "only loopback addresses are local",
        arguments: [
            ("127.0.0.1", true), ("127.255.255.254", true), ("::1", true), ("128.0.0.1", false),
            ("126.0.0.1", false), ("0.0.0.0", false), ("::", false), ("::2", false), ("fe80::1", false),
            ("localhost", false), ("127.0.0.1.example", false), ("1::1", false),
        ])
    func loopback(host: String, isLoopback: Bool) {
        #expect(Endpoint(host: host, port: 1).isLoopback == isLoopback)
    }

    @Test("a server on all addresses has the machine's name")
    func reachable() {
        #expect(Endpoint(host: "192.0.2.7", port: 1).reachableHost == "192.0.2.7")
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, 255)
        let own = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        for host in ["0.0.0.0", "::"] { #expect(Endpoint(host: host, port: 1).reachableHost == own) }
    }

    @Test("a port is kept until it is taken or changed")
    func keptPort() throws {
        let folder = try TemporaryFolder()
        let place = try PrivateFolder(folder.path("relay"), purpose: "relay")
        let kept = KeptPort(place)
        #expect(kept.last == nil)
        var asked: [UInt16] = []
        func listen(_ port: UInt16, taken: Set<UInt16> = []) throws -> UInt16 {
            asked = []
            func open(_ endpoint: Endpoint) throws(NetworkError) -> UInt16 {
                asked.append(endpoint.port)
                if taken.contains(endpoint.port) { throw NetworkError(.configuration, "Taken.") }
                return endpoint.port == 0 ? 5001 : endpoint.port
            }
            return try kept.listen(on: Endpoint(host: "127.0.0.1", port: port), port: { $0 }, open)
        }
        #expect(try listen(0) == 5001 && asked == [0] && kept.last == 5001)
        #expect(try listen(0) == 5001 && asked == [5001])
        // Another port is requested, and kept from then on.
        #expect(try listen(7000) == 7000 && asked == [7000] && kept.last == 7000)
        #expect(try listen(0, taken: [7000]) == 5001 && asked == [7000, 0] && kept.last == 5001)
        #expect(throws: NetworkError.self) { try listen(0, taken: [5001, 0]) }
        #expect(kept.last == 5001)
    }

    @Test("port 0 is never kept")
    func keptZero() throws {
        let folder = try TemporaryFolder()
        let kept = KeptPort(try PrivateFolder(folder.path("relay"), purpose: "relay"))
        try folder.write(Array("0\n".utf8), to: "relay/port")
        var next: UInt16 = 6000
        func listen() throws -> UInt16 {
            func open(_ endpoint: Endpoint) throws(NetworkError) -> UInt16 {
                guard endpoint.port == 0 else { return endpoint.port }
                next += 1
                return next
            }
            return try kept.listen(on: Endpoint(host: "127.0.0.1", port: 0), port: { $0 }, open)
        }
        #expect(try listen() == 6001 && kept.last == 6001)
        #expect(try listen() == 6001, "others find it again")
        // A socket that does not know its port.
        let unknown = try kept.listen(
            on: Endpoint(host: "127.0.0.1", port: 7), port: { $0 },
            { endpoint throws(NetworkError) -> UInt16 in
                #expect(endpoint.port == 7)
                return 0
            })
        #expect(unknown == 0 && kept.last == 6001)
    }

    @Test(
        "invalid ports are ignored",
        arguments: [
            "", "x", "65536", "-1", "\n5001", String(repeating: "1", count: 17), "5001x", "0", "0\n", "000",
            "+5001",
            " 5001", "٥٠٠١",
        ])
    func noPort(content: String) throws {
        let folder = try TemporaryFolder()
        let place = try PrivateFolder(folder.path("relay"), purpose: "relay")
        try folder.write(Array(content.utf8), to: "relay/port")
        #expect(KeptPort(place).last == nil)
        try folder.write(Array("5001\nmore".utf8), to: "relay/port")
        #expect(KeptPort(place).last == 5001)
        unlink(folder.path("relay/port"))
        symlink(try folder.write(Array("5001\n".utf8), to: "elsewhere"), folder.path("relay/port"))
        #expect(KeptPort(place).last == nil, "a link is not followed")
    }

    @Test("names too long for a proxy are refused")
    func longNames() {
        func address(_ count: Int) -> [UInt8]? {
            SOCKSProxy.address(of: Endpoint(host: String(repeating: "a", count: count), port: 1))
        }
        #expect(address(255)?.prefix(2) == [3, 255] && address(255)?.count == 257)
        #expect(address(256) == nil && address(0) == nil)
        #expect(SOCKSProxy.address(of: Endpoint(host: "192.0.2.1", port: 9)) == [1, 192, 0, 2, 1])
    }

    @Test("every truncated answer of a proxy has its error")
    func proxyAnswers() async throws {
        let success: [UInt8] = [5, 0, 5, 0, 0, 1, 127, 0, 0, 1, 0, 80]
        // The complete output of the proxy, from its choice of a method on.
        var answers: [([UInt8], NetworkErrorCode, String)] = (0..<success.count).map {
            (Array(success.prefix($0)), .closed, "The SOCKS proxy closed the connection.")
        }
        let log = Array(success.dropFirst(2))
        answers += [
            ([4, 0], .handshake, "The server at this address is not a SOCKS5 proxy."),
            ([5, 255], .handshake, "The SOCKS proxy wants a password; none can be given."),
            ([5, 2, 1, 1], .handshake, "The SOCKS proxy refused to serve without a password."),
            ([5, 2, 1], .closed, "The SOCKS proxy closed the connection."),
            ([5, 0, 4, 0, 0, 1], .handshake, "The SOCKS proxy sent an invalid answer."),
            ([5, 0, 5, 1, 0, 1], .unreachable, "The SOCKS proxy failed to reach the host."),
            ([5, 0, 5, 2, 0, 1], .handshake, "The SOCKS proxy does not allow this connection."),
            ([5, 0, 5, 3, 0, 1], .unreachable, "The SOCKS proxy cannot reach the host."),
            ([5, 0, 5, 4, 0, 1], .unreachable, "The SOCKS proxy cannot reach the host."),
            (
                [5, 0, 5, 5, 0, 1], .unreachable, "The host refused the connection from the SOCKS proxy."
            ),
            ([5, 0, 5, 6, 0, 1], .timeout, "The SOCKS proxy could not reach the host in time."),
            ([5, 0, 5, 0, 0, 2], .handshake, "The SOCKS proxy sent an invalid answer."),
        ]
        for (answer, code, sentence) in answers {
            let error = try Self.negotiate(answer)
            #expect(
                error?.code == code && error?.sentence == sentence, "\(answer): \(String(describing: error))")
        }
        // Addresses of every kind, with and without credentials. No byte beyond them is read.
        for answer in [
            success, [5, 2, 1, 0] + log, [5, 0, 5, 0, 0, 4] + [UInt8](repeating: 1, count: 18),
            [5, 0, 5, 0, 0, 3, 0, 0, 80], [5, 0, 5, 0, 0, 3, 2, 104, 105, 0, 80],
        ] {
            #expect(try Self.negotiate(answer, goesOn: true) == nil)
        }
    }

    /// Returns the error of a negotiation with these answers, or nil on success.
    /// - Parameter goesOn: Whether bytes for the connection follow.
    private static func negotiate(_ answer: [UInt8], goesOn: Bool = false) throws -> NetworkError? {
        var pair: [Int32] = [0, 0]
        try check("make sockets") {
            socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair)
        }
        let (socket, proxy) = (Socket(adopting: pair[0]), Socket(adopting: pair[1]))
        // All answers are there beforehand: none depends on the request.
        let said = answer + (goesOn ? [0xAB] : [])
        _ = said.withUnsafeBytes { send(proxy.descriptor, $0.baseAddress, $0.count, 0) }
        shutdown(proxy.descriptor, Int32(SHUT_WR))
        do throws(NetworkError) {
            try SOCKSProxy(Endpoint(host: "127.0.0.1", port: 1)).connect(
                socket, to: Endpoint(host: "relay.example", port: 443),
                deadline: Deadline(after: .seconds(30)),
                stop: try WakeUp.orExhausted())
        } catch {
            return error
        }
        var byte: UInt8 = 0
        #expect(recv(socket.descriptor, &byte, 1, 0) == (goesOn ? 1 : 0) && byte == (goesOn ? 0xAB : 0))
        return nil
    }
}
