import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Network

/// A SOCKS5 proxy with scripted answers.
private final class ScriptedProxy: Sendable {
    let endpoint: Endpoint
    private let listener: Int32
    private let asked = Lock<[[UInt8]]>([])

    /// The received requests from the version on.
    var requests: [[UInt8]] { asked.withLock { $0 } }

    /// Sends `answer` for each request, and connects to `target` after success.
    init(method: UInt8, answer: [UInt8], target: Endpoint) throws {
        let socket = try check("make a socket") { Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
        let here = try SocketAddress.resolve(Endpoint(host: "127.0.0.1", port: 0), numericOnly: true)[0]
        try check("bind") { here.withPointer { bind(socket, $0, $1) } }
        try check("listen") { listen(socket, 8) }
        listener = socket
        endpoint = Endpoint(host: "127.0.0.1", port: Socket.port(of: socket))
        Thread.start("proxy") { [asked] in
            while case let client = accept(socket, nil, nil), client >= 0 {
                Self.serve(client, method, answer, target, asked)
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private static func serve(
        _ client: Int32, _ method: UInt8, _ answer: [UInt8], _ target: Endpoint, _ asked: Lock<[[UInt8]]>
    ) {
        var buffer = [UInt8](repeating: 0, count: 1024)
        guard recv(client, &buffer, 2, Int32(MSG_WAITALL)) == 2 else { return }
        recv(client, &buffer, Int(buffer[1]), Int32(MSG_WAITALL))
        send(client, [5, method], 2, Int32(MSG_NOSIGNAL))
        if method == 2 {
            recv(client, &buffer, 1024, 0)
            send(client, [1, 0], 2, Int32(MSG_NOSIGNAL))
        }
        let count = recv(client, &buffer, 1024, 0)
        asked.withLock { $0.append(Array(buffer.prefix(max(0, count)))) }
        send(client, answer, answer.count, Int32(MSG_NOSIGNAL))
        guard answer.count > 1, answer[1] == 0 else {
            close(client)
            return
        }
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard let there = try? SocketAddress.resolve(target, numericOnly: true)[0],
            there.withPointer({ connect(server, $0, $1) }) == 0
        else { return }
        for (from, to) in [(client, server), (server, client)] {
            Thread.start("proxy-pump") {
                var buffer = [UInt8](repeating: 0, count: 16_384)
                while case let count = recv(from, &buffer, 16_384, 0), count > 0 {
                    send(to, buffer, count, Int32(MSG_NOSIGNAL))
                }
                shutdown(to, Int32(SHUT_RDWR))
            }
        }
    }
}

extension Socket {
    fileprivate static func port(of descriptor: Int32) -> UInt16 {
        Socket(adopting: dup(descriptor)).localPort()
    }
}

@Suite("Relays through a SOCKS5 proxy")
struct ProxyTests {
    static let success: [UInt8] = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    static let name = Endpoint(host: "relay.invalid", port: 443)

    private func connect(
        _ place: Place, _ proxy: ScriptedProxy, to endpoint: Endpoint = name
    ) async throws -> HTTP2Client {
        try await HTTP2Client.connect(
            to: endpoint, tls: TLSClientSettings(identityFingerprint: place.fingerprint),
            timeout: .seconds(20), through: SOCKSProxy(proxy.endpoint))
    }

    @Test("the proxy gets the unresolved host name", arguments: [0, 2] as [UInt8])
    func name(method: UInt8) async throws {
        let place = try Place.open()
        let proxy = try ScriptedProxy(method: method, answer: Self.success, target: place.server.endpoint)
        let client = try await connect(place, proxy)
        #expect(try await client.ask(Array("ehello".utf8)) == Array("ehello".utf8))
        #expect(proxy.requests == [[5, 1, 0, 3, 13] + Array("relay.invalid".utf8) + [1, 187]])
        await place.server.stop()
    }

    @Test("numeric addresses are sent as numbers")
    func numbers() async throws {
        let place = try Place.open()
        let answer: [UInt8] = [5, 0, 0, 3, 4] + Array("here".utf8) + [0, 1]
        let proxy = try ScriptedProxy(method: 0, answer: answer, target: place.server.endpoint)
        let four = try await connect(place, proxy, to: Endpoint(host: "192.0.2.1", port: 5))
        #expect(try await four.ask(Array("ehello".utf8)) == Array("ehello".utf8))
        let six = try await connect(place, proxy, to: Endpoint(host: "2001:db8::1", port: 5))
        #expect(six.isOpen)
        #expect(proxy.requests.first == [5, 1, 0, 1, 192, 0, 2, 1, 0, 5])
        #expect(proxy.requests.last?.prefix(4) == [5, 1, 0, 4] && proxy.requests.last?.count == 22)
        await place.server.stop()
    }

    @Test("the error names the unreachable proxy")
    func away() async throws {
        let place = try Place.open()
        let proxy = SOCKSProxy(Endpoint(host: "127.0.0.1", port: 1))
        let error = await #expect(throws: NetworkError.self) {
            try await HTTP2Client.connect(
                to: Self.name, tls: TLSClientSettings(identityFingerprint: place.fingerprint),
                timeout: .seconds(20), through: proxy)
        }
        #expect(error?.code == .unreachable)
        #expect(error?.sentence == "The SOCKS proxy at 127.0.0.1:1 cannot be reached.")
        await place.server.stop()
    }

    @Test(
        "each failure of a proxy has its error",
        arguments: [
            (0, [5, 4, 0, 1, 0, 0, 0, 0, 0, 0], .unreachable), (0, [5, 6, 0, 1, 0, 0, 0, 0, 0, 0], .timeout),
            (0, [5, 2, 0, 1, 0, 0, 0, 0, 0, 0], .handshake), (0, [4, 0, 0, 1], .handshake),
            (0, [5, 0, 0, 9], .handshake), (0, [], .closed), (255, [], .handshake),
        ] as [(UInt8, [UInt8], NetworkErrorCode)])
    func refusals(_ method: UInt8, _ answer: [UInt8], _ code: NetworkErrorCode) async throws {
        let place = try Place.open()
        let proxy = try ScriptedProxy(method: method, answer: answer, target: place.server.endpoint)
        #expect(await failure { try await connect(place, proxy) } == code)
        await place.server.stop()
    }
}
