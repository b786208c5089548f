import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Desktop

@Suite("Unresponsive daemons", .timeLimit(.minutes(10)))
struct HangUpTests {
    private let folder: TemporaryFolder
    /// Whether the peer was connected at the daemon's next check.
    private let heard = Lock<[String]>([])

    init() throws { folder = try TemporaryFolder() }

    private static let state = HostileDaemonTests.reply(#"{"done":1,"total":9,"isOver":false}"#)

    /// Reads requests and answers with `states` until the client hangs up.
    private func serve(_ states: [String] = []) throws -> SocketListener {
        try SocketListener(
            in: ControlSocket.openFolder(folder.path), named: ControlSocket.name,
            threads: ("fake", "fake-peer"),
            limit: 4
        ) { [heard] socket in
            let channel = ControlChannel(socket, timeout: .seconds(90))
            HostileDaemonTests.greet(channel)
            while let line = try? channel.readLine() {
                heard.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
                for state in states { try? channel.writeLine(Array(state.utf8)) }
            }
            heard.withLock { $0.append("left") }
        }
    }

    private func client() async throws -> ControlClient {
        try await ThreadPool.shared.run { [path = folder.path] in
            try #require(try ControlClient.connect(profileFolder: path))
        }
    }

    @Test("cancelling a transfer hangs up at once", arguments: [true, false])
    func cancelled(hasBegun: Bool) async throws {
        let listener = try serve(hasBegun ? [Self.state] : [])
        defer { listener.stop() }
        let client = try await client()
        let told = Lock(0)
        let task = Task {
            try await client.transferring(.upload("/x")) { _ in told.withLock { $0 += 1 } }
        }
        try await wait(until: "it is asked") { heard.withLock { $0.count == 1 } }
        if hasBegun { try await wait(until: "it is told") { told.withLock { $0 == 1 } } }
        task.cancel()
        let error = await #expect(throws: DesktopError.self) { try await task.value }
        // Not because of the timeout.
        #expect(error?.sentence == DesktopError.hungUp.sentence, "\(String(describing: error))")
        try await wait(until: "it is left") { heard.withLock { $0.last == "left" } }
    }

    @Test("a transfer cancelled early does not wait")
    func before() async throws {
        let listener = try serve()
        defer { listener.stop() }
        let client = try await client()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await client.transferring(.upload("/x")) { _ in }
        }
        let error = await #expect(throws: DesktopError.self) { try await task.value }
        #expect(error?.code == .noAnswer)
    }

    @Test("an error of the callback ends the transfer")
    func told() async throws {
        struct Enough: Error {}
        let listener = try serve([Self.state, Self.state, Self.state])
        defer { listener.stop() }
        let client = try await client()
        let count = Lock(0)
        await #expect(throws: Enough.self) {
            try await client.transferring(.download("https://x", to: "/y")) { state in
                #expect(state.done == 1 && state.total == 9)
                if count.withLock({ count in
                    count += 1
                    return count == 2
                }) {
                    throw Enough()
                }
            }
        }
    }

    @Test("a hung-up channel keeps its read bytes")
    func channel() throws {
        var ends: [Int32] = [0, 0]
        try check("make a pair") {
            socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends)
        }
        let channel = ControlChannel(OpenFile(adopting: ends[0]), timeout: .seconds(90))
        let peer = OpenFile(adopting: ends[1])
        try peer.send(Array("one\ntwo\nthr".utf8))
        #expect(try channel.readLine() == Array("one".utf8))
        channel.hangUp()
        #expect(try channel.readLine() == Array("two".utf8))
        let error = #expect(throws: DesktopError.self) { try channel.readLine() }
        #expect(error?.sentence == DesktopError.hungUp.sentence && channel.isAbandoned)
        let refused = #expect(throws: DesktopError.self) { try channel.writeLine([1]) }
        #expect(refused?.sentence == DesktopError.hungUp.sentence)
        // A repeated hang-up has no effect.
        channel.hangUp()
    }
}
