import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import ScriptedCore

/// A minimal client, independent of the tested one.
private struct PlainClient {
    let connection: OpenFile

    init(_ server: ScriptedServer, handshake: Bool = true) throws {
        connection = OpenFile(
            adopting: try check("make a socket") { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) })
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(
            connection.descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = server.port.bigEndian
        let descriptor = connection.descriptor
        _ = try withUnsafePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                try check("connect") {
                    connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        guard handshake else { return }
        say(
            "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
    }

    func say(_ text: String) { WebSocketFrames.send(Array(text.utf8), connection.descriptor) }

    /// The head of the handshake's answer.
    func hearHead() throws -> String {
        var head = ""
        while !head.hasSuffix("\r\n\r\n") {
            let byte = try #require(WebSocketFrames.read(connection.descriptor, 1))
            head.unicodeScalars.append(Unicode.Scalar(byte[0]))
        }
        return head
    }

    func send(_ text: String, opcode: UInt8 = 1) {
        let (payload, mask) = (Array(text.utf8), [1, 2, 3, 4] as [UInt8])
        let masked = payload.enumerated().map { $1 ^ mask[$0 % 4] }
        let length: [UInt8] =
            payload.count < 126
            ? [0x80 | UInt8(payload.count)]
            : [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
        WebSocketFrames.send([0x80 | opcode] + length + mask + masked, connection.descriptor)
    }

    func ask(_ command: String, _ correlation: Int = 1) {
        let escaped = command.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        send(#"{"corrId":"\#(correlation)","cmd":"\#(escaped)"}"#)
    }

    /// Returns the server's next frame, or nil at the end of the connection.
    func hear() -> (opcode: UInt8, text: String)? {
        guard let head = WebSocketFrames.read(connection.descriptor, 2) else { return nil }
        var length = Int(head[1])
        if length >= 126 {
            guard let more = WebSocketFrames.read(connection.descriptor, length == 126 ? 2 : 8) else {
                return nil
            }
            length = more.reduce(0) { $0 << 8 | Int($1) }
        }
        guard let payload = WebSocketFrames.read(connection.descriptor, length) else { return nil }
        return (head[0] & 15, String(decoding: payload, as: UTF8.self))
    }
}

@Suite("The scripted server with an independent client", .timeLimit(.minutes(10)))
struct ServerTests {
    /// Connects and performs the handshake, before which the connection was counted.
    private func connected(_ server: ScriptedServer) throws -> PlainClient {
        let client = try PlainClient(server)
        _ = try client.hearHead()
        return client
    }

    private func echoing() throws -> ScriptedServer {
        try ScriptedServer { command, correlation in
            command == "end" ? nil : (0..<2).map { "\(correlation):\(command):\($0)" }
        }
    }

    @Test("handshakes need a key")
    func handshakes() async throws {
        let server = try echoing()
        defer { server.close() }
        let client = try PlainClient(server)
        let head = try client.hearHead()
        #expect(head.hasPrefix("HTTP/1.1 101 ") && head.contains("Upgrade: WebSocket\r\n"))
        #expect(head.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
        let keyless = try PlainClient(server, handshake: false)
        keyless.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(WebSocketFrames.read(keyless.connection.descriptor, 1) == nil)
        // The other connection continues.
        client.ask("still here")
        #expect(client.hear()?.text == "1:still here:0")
    }

    @Test("commands are answered in order by number")
    func commands() async throws {
        let server = try echoing()
        defer { server.close() }
        let client = try connected(server)
        for number in 1...3 { client.ask("ask \(number)", number) }
        let heard = (0..<6).map { _ in client.hear()?.text }
        #expect(heard == (1...3).flatMap { number in (0..<2).map { "\(number):ask \(number):\($0)" } })
        #expect(server.commands == ["ask 1", "ask 2", "ask 3"])
    }

    @Test(
        "quotes and backslashes survive",
        arguments: [
            #"/_send @1 json [{"a":"b"}]"#, #"a\b"#, #"\""#, "ä👩 x", "",
        ])
    func escapes(command: String) async throws {
        let server = try echoing()
        defer { server.close() }
        let client = try connected(server)
        client.ask(command)
        #expect(client.hear()?.text == "1:\(command):0")
        #expect(server.commands == [command])
    }

    @Test("other messages and pings are ignored")
    func strange() async throws {
        let server = try echoing()
        defer { server.close() }
        let client = try connected(server)
        for text in ["", "{}", #"{"corrId":"x","cmd":"y"}"#, #"{"cmd":"y","corrId":"1"}"#, "hello"] {
            client.send(text)
        }
        client.send("ping", opcode: 9)
        client.send(#"{"corrId":"5","cmd":"in bytes"}"#, opcode: 2)
        client.ask("known", 7)
        #expect(client.hear()?.text == "7:known:0")
        #expect(server.commands == ["known"])
    }

    @Test("long commands and answers are complete", arguments: [125, 126, 30_000, 65_535])
    func lengths(count: Int) async throws {
        let server = try echoing()
        defer { server.close() }
        let client = try connected(server)
        // With the surrounding JSON.
        let command = String(repeating: "x", count: max(1, count - #"{"corrId":"1","cmd":""}"#.utf8.count))
        client.ask(command)
        #expect(client.hear()?.text == "1:\(command):0")
    }

    @Test("no answer ends the connection, a close frame is echoed")
    func ends() async throws {
        let server = try echoing()
        defer { server.close() }
        let (first, second) = (try connected(server), try connected(server))
        first.ask("end")
        #expect(first.hear() == nil)
        second.send("why", opcode: 8)
        let goodbye = second.hear()
        #expect(goodbye?.opcode == 8 && goodbye?.text == "why")
        #expect(second.hear() == nil)
        try await wait(until: "both are gone") { server.connectionCount == 0 }
    }

    @Test("an event goes to one connection")
    func events() async throws {
        let server = try echoing()
        defer { server.close() }
        server.tell("lost")
        server.tellRaw([1])
        let (first, second) = (try connected(server), try connected(server))
        server.tell("to the first")
        server.tell("to the second", connection: 1)
        server.tell("to nobody", connection: 2)
        server.tellRaw(WebSocketFrames.frame(1, Array("raw".utf8)), connection: 1)
        #expect(first.hear()?.text == "to the first")
        #expect(second.hear()?.text == "to the second" && second.hear()?.text == "raw")
        for client in [first, second] {
            client.ask("next")
            #expect(client.hear()?.text == "1:next:0")
        }
    }

    @Test("it disconnects once in the middle of a frame", arguments: [0, 1, 5])
    func breaksOff(count: Int) async throws {
        let server = try echoing()
        defer { server.close() }
        let client = try connected(server)
        server.breakAfter(count)
        client.ask("x")
        let bytes = WebSocketFrames.read(client.connection.descriptor, count)
        #expect(count == 0 || bytes?.count == count)
        #expect(WebSocketFrames.read(client.connection.descriptor, 1) == nil)
        try await wait(until: "it is forgotten") { server.connectionCount == 0 }
        let next = try connected(server)
        next.ask("x")
        #expect(next.hear()?.text == "1:x:0" && next.hear()?.text == "1:x:1")
    }

    @Test("frames within the limit are complete")
    func breaksLater() async throws {
        let server = try echoing()
        defer { server.close() }
        let client = try connected(server)
        server.breakAfter(WebSocketFrames.frame(1, Array("1:x:0".utf8)).count + 1)
        client.ask("x")
        #expect(client.hear()?.text == "1:x:0")
        #expect(client.hear() == nil)
    }

    @Test("an absent server returns")
    func away() async throws {
        let server = try echoing()
        defer { server.close() }
        let client = try connected(server)
        server.setAway(true)
        #expect(client.hear() == nil)
        let refused = try PlainClient(server)
        #expect(WebSocketFrames.read(refused.connection.descriptor, 1) == nil)
        server.setAway(false)
        let next = try connected(server)
        next.ask("back")
        #expect(next.hear()?.text == "1:back:0")
    }

    @Test("a closed server accepts no connection")
    func closed() async throws {
        let server = try echoing()
        let client = try connected(server)
        server.breakConnections()
        #expect(client.hear() == nil)
        try await wait(until: "it is forgotten") { server.connectionCount == 0 }
        let last = try connected(server)
        server.close()
        #expect(last.hear() == nil)
        let late = try? PlainClient(server)
        #expect(late.map { WebSocketFrames.read($0.connection.descriptor, 1) == nil } ?? true)
    }

    @Test(
        "a scripted core behaves the same over a socket"
    )
    func core() async throws {
        let simplex = ScriptedSimpleX()
        simplex.change { state in
            state.silent = ["/_servers"]
            state.breaking = ["/network"]
        }
        let server = try ScriptedServer(simplex)
        defer { server.close() }
        let client = try connected(server)
        client.ask("/_servers 1", 1)
        client.ask("/user", 2)
        #expect(client.hear()?.text.hasPrefix(#"{"corrId":"2","resp":{"type":"activeUser""#) == true)
        simplex.tellNew(ScriptedMessage(id: 1, contact: 1, name: "a.txt"))
        #expect(client.hear()?.text.hasPrefix(#"{"resp":{"type":"newChatItems""#) == true)
        client.ask("/network", 3)
        #expect(client.hear() == nil)
        #expect(simplex.commands == ["/_servers 1", "/user", "/network"])
        let next = try connected(server)
        next.ask("/network", 1)
        #expect(next.hear()?.text.contains("networkConfig") == true)
    }

    @Test("a core of one closure answers /version")
    func closure() async throws {
        let server = try ScriptedServer.core { #"{"type":"\#($0.dropFirst())"}"# }
        defer { server.close() }
        let client = try connected(server)
        client.ask("/version", 1)
        #expect(client.hear()?.text.contains(#""version":"6.4.5.1""#) == true)
        client.ask("/user", 2)
        #expect(client.hear()?.text == #"{"corrId":"2","resp":{"type":"user"}}"#)
    }
}
