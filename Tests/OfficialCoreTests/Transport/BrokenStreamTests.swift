import Base
import Network
import ScriptedCore
import TestSupport
import Testing

@testable import OfficialCore

/// The connection ends after each byte that the core can have written.
@Suite("Broken connections")
struct BrokenStreamTests {
    private static func server() throws -> ScriptedServer {
        try ScriptedServer.core { command in #"{"type":"\#(command == "/user" ? "chatRunning" : "cmdOk")"}"# }
    }

    private static func settings(tries: Int) -> WebSocketTransportSettings {
        var settings = WebSocketTransportTests.quick
        settings.retry = RetryPolicy(first: .milliseconds(1), maxDelay: .milliseconds(2), tries: tries)
        return settings
    }

    private func connect(_ server: ScriptedServer) async throws(OfficialCoreError) -> WebSocketTransport {
        try await WebSocketTransport.connect(
            to: WebSocketTransportTests.endpoint(server), settings: Self.settings(tries: .max))
    }

    /// The bytes of one lane's connection: the answers to the handshake and to `/version`.
    private static let lane: (handshake: Int, all: Int) = {
        let handshake =
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: \(String(repeating: "x", count: 28))\r\n\r\n"
        let version =
            #"{"corrId":"1","resp":{"type":"versionInfo","versionInfo":{"version":"6.4.5.1","simplexmqVersion":"6.4.5.2"}}}"#
        return (
            handshake.utf8.count, handshake.utf8.count + WebSocketFrames.frame(1, Array(version.utf8)).count
        )
    }()

    @Test("a break at the handshake permits a retry")
    func connecting() async throws {
        let server = try Self.server()
        defer { server.close() }
        for count in Array(0..<Self.lane.all) + [Self.lane.all + 1, Self.lane.all * 2 - 1] {
            server.breakAfter(count)
            do throws(OfficialCoreError) {
                await (try await connect(server)).close()
                Issue.record("it was connected after \(count) bytes")
            } catch {
                // No command was executed, and the core may return soon.
                #expect(
                    [.disconnected, .broken].contains(error.code), "\(count): \(error.code) \(error.sentence)"
                )
                #expect(error.sentence.hasSuffix("."))
            }
        }
        let transport = try await connect(server)
        #expect(transport.version.version == "6.4.5.1")
        await transport.close()
    }

    @Test(
        "a break within an answer leaves doubt")
    func answering() async throws {
        let server = try Self.server()
        defer { server.close() }
        let transport = try await connect(server)
        // An event precedes the answer.
        var events = transport.events().makeAsyncIterator()
        #expect(await events.next(isolation: nil) == .connected)
        // The minimum length; the number in the command's name grows.
        let answer = WebSocketFrames.frame(1, Array(#"{"corrId":"2","resp":{"type":"chatRunning"}}"#.utf8))
        for count in 0..<answer.count {
            server.breakAfter(count)
            do throws(OfficialCoreError) {
                _ = try await transport.request(.user)
                Issue.record("it was answered after \(count) bytes")
            } catch {
                #expect(error.code == .broken && error.leavesDoubt)
            }
            guard case .disconnected = await events.next(isolation: nil) else {
                Issue.record("the break was not told")
                return
            }
            #expect(await events.next(isolation: nil) == .connected)
            #expect(try await transport.request(.user) == .chatRunning)
        }
        await transport.close()
    }

    @Test("a partial event is discarded")
    func telling() async throws {
        let server = try Self.server()
        defer { server.close() }
        let transport = try await connect(server)
        var events = transport.events().makeAsyncIterator()
        #expect(await events.next(isolation: nil) == .connected)
        let event = WebSocketFrames.frame(1, Array(WebSocketTransportTests.updated.utf8))
        for count in stride(from: 0, to: event.count, by: 3) {
            try await wait(until: "both lanes are there") { server.connectionCount == 2 }
            server.breakAfter(count)
            server.tell(WebSocketTransportTests.updated)
            guard case .disconnected = await events.next(isolation: nil),
                case .connected = await events.next(isolation: nil)
            else {
                Issue.record("the break after \(count) bytes was not told")
                return
            }
            try await wait(until: "both lanes are there") { server.connectionCount == 2 }
            server.tell(WebSocketTransportTests.updated)
            guard case .event = await events.next(isolation: nil) else {
                Issue.record("the event did not come")
                return
            }
        }
        await transport.close()
    }

    @Test("reconnects end after the configured tries")
    func away() async throws {
        let server = try Self.server()
        let transport = try await WebSocketTransport.connect(
            to: WebSocketTransportTests.endpoint(server), settings: Self.settings(tries: 3))
        var events = transport.events().makeAsyncIterator()
        #expect(await events.next(isolation: nil) == .connected)
        server.setAway(true)
        for _ in 0..<2 {
            guard case .disconnected = await events.next(isolation: nil) else {
                Issue.record("it was not told")
                return
            }
        }
        let error = await #expect(throws: OfficialCoreError.self) { _ = try await transport.request(.user) }
        #expect(error?.code == .disconnected && error?.leavesDoubt == false)
        await transport.close()
        let closed = await #expect(throws: OfficialCoreError.self) { _ = try await transport.request(.user) }
        #expect(closed?.code == .closed)
        #expect(await events.next(isolation: nil) == nil)
        server.close()
    }
}
