import Base
import ChatCore
import Glibc
import Network
import Posix
import ScriptedCore
import TestSupport
import Testing

@testable import OfficialCore

@Suite("WebSocket transport")
struct WebSocketTransportTests {
    static var quick: WebSocketTransportSettings {
        var settings = WebSocketTransportSettings()
        settings.connectTimeout = .seconds(20)
        settings.retry = RetryPolicy(first: .milliseconds(5), maxDelay: .milliseconds(50), tries: .max)
        return settings
    }

    static func endpoint(_ server: ScriptedServer) -> Endpoint {
        Endpoint(host: "127.0.0.1", port: server.port)
    }

    static let updated =
        #"{"resp":{"type":"contactUpdated","toContact":{"contactId":4,"localDisplayName":"bob"}}}"#

    @Test("answers match commands by name")
    func answers() async throws {
        let held = Lock<String?>(nil)
        let server = try ScriptedServer { command, name in
            switch command {
            case "/version":
                return [
                    #"{"corrId":"\#(name)","resp":{"type":"versionInfo","versionInfo":{"version":"7.0"}}}"#
                ]
            case "/_start":
                held.withLock { $0 = name }
                return []
            default:
                let first = held.withLock { $0 } ?? ""
                return [
                    #"{"corrId":"\#(name)","resp":{"type":"chatCmdError","chatError":{"type":"error","errorType":{"type":"noActiveUser"}}}}"#,
                    #"{"corrId":"\#(first)","resp":{"type":"chatRunning"}}"#,
                ]
            }
        }
        defer { server.close() }
        let transport = try await WebSocketTransport.connect(to: Self.endpoint(server), settings: Self.quick)
        #expect(transport.version.version == "7.0")
        async let start = transport.request(.start)
        try await wait(until: "the first command is there") { held.withLock { $0 } != nil }
        await #expect {
            _ = try await transport.request(.user)
        } throws: {
            ($0 as? OfficialCoreError)?.refusal?.path == ["error", "noActiveUser"]
        }
        let started = try await start
        #expect(started == .chatRunning)
        await transport.close()
    }

    @Test("the history lane has its own connection")
    func lanes() async throws {
        let gate = Gate()
        let server = try ScriptedServer.core { command in
            if command.hasPrefix("/_get chat ") { gate.wait() }
            return #"{"type":"cmdOk"}"#
        }
        defer { server.close() }
        let transport = try await WebSocketTransport.connect(to: Self.endpoint(server), settings: Self.quick)
        #expect(server.connectionCount == 2)
        let page = APICommand.chatPage(APIChatReference(.direct(4)), .last(100))
        async let slow = transport.request(page, lane: .background, timeout: .seconds(20))
        try await wait(until: "the slow command runs") { server.commands.contains("/_get chat @4 count=100") }
        // This request is answered while the other one is held.
        #expect(try await transport.request(.encryptFiles(true)) == .done)
        gate.open()
        _ = try await slow

        server.tell(Self.updated, connection: 0)
        server.tell(Self.updated, connection: 1)
        var heard = 0
        for await event in transport.events() {
            if case .event(let event) = event, case .chatUpdated(let chat) = event.kind {
                #expect(chat.reference.chat == .direct(4))
                heard += 1
            }
            if heard == 2 { break }
        }
        await transport.close()
    }

    @Test("a broken connection fails requests and reconnects")
    func reconnects() async throws {
        let server = try ScriptedServer { command, name in
            command == "/version"
                ? [#"{"corrId":"\#(name)","resp":{"type":"versionInfo","versionInfo":{"version":"6.4"}}}"#]
                : command == "/user" ? [] : [#"{"corrId":"\#(name)","resp":{"type":"cmdOk"}}"#]
        }
        defer { server.close() }
        let transport = try await WebSocketTransport.connect(to: Self.endpoint(server), settings: Self.quick)
        var events = transport.events().makeAsyncIterator()
        #expect(await events.next() == .connected)
        let lost = Task { try await transport.request(.user, timeout: .seconds(60)) }
        try await wait(until: "the command is there") { server.commands.contains("/user") }
        server.breakConnections()
        await #expect {
            _ = try await lost.value
        } throws: {
            ($0 as? OfficialCoreError)?.leavesDoubt == true
        }
        // Each of the two connections reports its loss and its return once.
        var seen: [Bool] = []
        while seen.filter({ $0 }).count < 2, let event = await events.next() {
            if case .connected = event { seen.append(true) } else { seen.append(false) }
        }
        #expect(seen.count == 4)
        #expect(try await transport.request(.encryptFiles(true)) == .done)
        await transport.close()
        await #expect(throws: OfficialCoreError.self) { _ = try await transport.request(.user) }
    }

    @Test("a late answer still reports its message")
    func lateAnswer() async throws {
        let gate = Gate()
        let server = try ScriptedServer { command, name in
            if command == "/version" {
                return [
                    #"{"corrId":"\#(name)","resp":{"type":"versionInfo","versionInfo":{"version":"6.4"}}}"#
                ]
            }
            gate.wait()
            return [#"{"corrId":"\#(name)","resp":{"type":"newChatItems","chatItems":[]}}"#]
        }
        defer { server.close() }
        let transport = try await WebSocketTransport.connect(to: Self.endpoint(server), settings: Self.quick)
        await #expect {
            _ = try await transport.request(.start, timeout: .milliseconds(1))
        } throws: {
            ($0 as? OfficialCoreError)?.code == .timeout
        }
        gate.open()
        for await event in transport.events() {
            if case .event(let event) = event, case .newChatItems = event.kind { break }
        }
        await transport.close()
    }

    @Test("invalid frames end the connection")
    func frames() async throws {
        let server = try ScriptedServer.core { _ in #"{"type":"cmdOk"}"# }
        defer { server.close() }
        let transport = try await WebSocketTransport.connect(to: Self.endpoint(server), settings: Self.quick)
        var events = transport.events().makeAsyncIterator()
        #expect(await events.next() == .connected)
        let text = Array(Self.updated.utf8)
        server.tellRaw(WebSocketFrames.frame(1, Array(text[..<10]), final: false))
        server.tellRaw(WebSocketFrames.frame(9, [1, 2, 3]))
        server.tellRaw(WebSocketFrames.frame(0, Array(text[10...])))
        guard case .event = await events.next() else {
            Issue.record("no event")
            return
        }
        let long = #"{"resp":{"type":"\#(String(repeating: "x", count: 3 << 20))"}}"#
        server.tellRaw(WebSocketFrames.frame(1, Array(long.utf8)))
        guard case .event(let event) = await events.next(), case .other(let name) = event.kind else {
            Issue.record("no event")
            return
        }
        #expect(name.utf8.count == 3 << 20)
        // A masked frame, an unknown opcode and an unexpected continuation each break the connection, which
        // returns.
        for bytes in [[0x81, 0x81, 0, 0, 0, 0, 0x20], [0x83, 0], [0x80, 0]] as [[UInt8]] {
            server.tellRaw(bytes)
            guard case .disconnected = await events.next(), case .connected = await events.next() else {
                Issue.record("the connection did not break")
                return
            }
            try await wait(until: "both connections are back") { server.connectionCount == 2 }
        }
        await transport.close()
    }

    @Test("only a SimpleX core is accepted")
    func wrongServer() async throws {
        let stranger = try ScriptedServer { _, name in [#"{"corrId":"\#(name)","resp":{"type":"cmdOk"}}"#] }
        defer { stranger.close() }
        await #expect {
            _ = try await WebSocketTransport.connect(to: Self.endpoint(stranger), settings: Self.quick)
        } throws: {
            ($0 as? OfficialCoreError)?.code == .notUnderstood
        }
        await #expect {
            let nobody = Endpoint(host: "127.0.0.1", port: 1)
            _ = try await WebSocketTransport.connect(to: nobody, settings: Self.quick)
        } throws: {
            ($0 as? OfficialCoreError)?.code == .disconnected
        }
    }

    @Test("remote cores need permission")
    func addresses() throws {
        let here = OfficialCoreAddress.webSocket(Endpoint(host: "127.0.0.1", port: 5225))
        #expect(try OfficialCoreAddress("ws://127.0.0.1:5225") == here)
        #expect(try OfficialCoreAddress("ws://localhost:5225/") == here)
        #expect(try OfficialCoreAddress("lib:/opt/libsimplex.so") == .library(path: "/opt/libsimplex.so"))
        #expect(try OfficialCoreAddress("simplex-chat") == .program(path: nil))
        #expect(
            try OfficialCoreAddress("simplex-chat:/opt/simplex-chat") == .program(path: "/opt/simplex-chat"))
        let refused = [
            "ws://10.0.0.1:5225", "ws://example.org:5225", "ws://127.0.0.1", "wss://127.0.0.1:5225", "lib:x",
            "simplex-chat:x", "", "ws://127.0.0.1:0",
        ]
        for text in refused { #expect(throws: OfficialCoreError.self) { try OfficialCoreAddress(text) } }
        #expect(throws: Never.self) { try OfficialCoreAddress("ws://10.0.0.1:5225", allowsRemote: true) }
    }
}

/// Blocks a script's thread until `open`, at most for a minute.
private final class Gate: Sendable {
    private let isOpen = Lock(false)

    func open() { isOpen.withLock { $0 = true } }

    func wait() {
        let end = ContinuousClock.now + .seconds(60)
        while !isOpen.withLock({ $0 }), ContinuousClock.now < end { usleep(2_000) }
    }
}
