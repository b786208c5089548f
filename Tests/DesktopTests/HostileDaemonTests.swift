import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Desktop

/// A command whose daemon is of another version, hangs up or sends invalid replies.
@Suite("Invalid replies of daemons", .timeLimit(.minutes(10)))
struct HostileDaemonTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Sends the first line of a daemon.
    static func greet(_ channel: ControlChannel, version: Int = ControlProtocol.version) {
        let line = #"{"chatfs":\#(version),"profile":"ann","mountpoint":"/mnt","pid":1}"#
        try? channel.writeLine(Array(line.utf8))
    }

    /// Answers each command's first request with these bytes and nothing more.
    private func serve(_ answer: [UInt8]) throws -> SocketListener {
        try SocketListener(
            in: ControlSocket.openFolder(folder.path), named: ControlSocket.name,
            threads: ("fake", "fake-peer"),
            limit: 16
        ) { socket in
            let channel = ControlChannel(socket, timeout: .seconds(30))
            Self.greet(channel)
            guard (try? channel.readLine()) != nil else { return }
            try? answer.withUnsafeBufferPointer { try channel.write(UnsafeRawBufferPointer($0)) }
            shutdown(socket.descriptor, Int32(SHUT_RDWR))
        }
    }

    /// Returns the error of a request.
    private func error(
        _ answer: String, _ ask: @escaping @Sendable (ControlClient) throws -> Void
    ) async throws -> DesktopError? {
        let listener = try serve(Array(answer.utf8))
        defer { listener.stop() }
        return try await ThreadPool.shared.run { [path = folder.path] in
            let client = try #require(try ControlClient.connect(profileFolder: path))
            do {
                try ask(client)
                return nil
            } catch { return error as? DesktopError }
        }
    }

    /// Every kind of request with a valid reply.
    static let requests: [(name: String, answer: String, ask: @Sendable (ControlClient) throws -> Void)] = [
        ("terms", #"{"chat":"@1","stagingFolder":"/s"}"#, { _ = try $0.terms(for: "bob") }),
        ("text", "{}", { try $0.send(ComposedText(id: "m", text: "hi"), to: "bob") }),
        ("file", #"{"item":1}"#, { try $0.send(ControlLineTests.message, to: "bob") }),
        ("cache", #"{"isDone":true,"progress":100}"#, { _ = try $0.ask(CacheRequest(.show)) }),
        ("keep", "[]", { _ = try $0.ask(KeepRequest(.show)) }),
        ("free", "[]", { _ = try $0.ask(FreeRequest([], lastCopies: false)) }),
        ("delete", #"{"bytes":0,"files":0}"#, { _ = try $0.ask(DeleteRequest(.find, chat: "bob")) }),
        ("manage", "[]", { _ = try $0.manage(ChatManagementRequest(.list, .contact)) }),
        ("contact", "{}", { _ = try $0.ask(ContactRequest.invite) }),
        ("link", "[]", { _ = try $0.link(LinkRequest(.list)) }),
        (
            "transfer", #"{"done":0,"total":0,"isOver":true}"#,
            { _ = try $0.transfer(.upload("/x")) { _ in } }
        ),
    ]

    /// Returns the first reply of a connection.
    static func reply(_ result: String) -> String { #"{"id":1,"result":\#(result)}"# }

    private static func failure(_ code: String, _ message: String) -> String {
        #"{"id":1,"error":{"code":"\#(code)","message":"\#(message)"}}"# + "\n"
    }

    @Test("truncated replies fail", arguments: requests.indices)
    func cuts(index: Int) async throws {
        let (name, result, ask) = Self.requests[index]
        let answer = Self.reply(result)
        #expect(try await error(answer + "\n", ask) == nil, "\(name)")
        for length in 0...answer.utf8.count where length % 3 == 0 || length >= answer.utf8.count - 1 {
            let found = try await error(String(answer.prefix(length)), ask)
            #expect(found?.code == .noAnswer, "\(name) after \(length) bytes: \(String(describing: found))")
        }
    }

    @Test("refusals keep the daemon's sentence", arguments: requests.indices)
    func refused(index: Int) async throws {
        let (name, _, ask) = Self.requests[index]
        let found = try await error(Self.failure("refused", "It is closed."), ask)
        #expect(found?.code == .refused && found?.sentence == "It is closed.", "\(name)")
    }

    @Test("invalid JSON is reported as malformed", arguments: requests.indices)
    func nonsense(index: Int) async throws {
        let (name, result, ask) = Self.requests[index]
        for answer in [
            "", "no", "[1]", #"{"id":1}"#, #"{"id":1,"error":7}"#, Self.reply("7"),
            // The reply to another request.
            #"{"id":2,"result":\#(result)}"#,
            Self.reply(#"{"item":"x","names":1,"isDone":"","connection":""}"#),
        ] {
            #expect(try await error(answer + "\n", ask)?.code == .malformed, "\(name): \(answer)")
        }
    }

    @Test("a missing required member is malformed")
    func missing() async throws {
        for name in ["terms", "file", "keep", "manage", "link"] {
            let request = try #require(Self.requests.first { $0.name == name })
            #expect(try await error(Self.reply("{}") + "\n", request.ask)?.code == .malformed, "\(name)")
        }
    }

    @Test("unsure outcomes differ from refusals")
    func unsure() async throws {
        for name in ["file", "text"] {
            let request = try #require(Self.requests.first { $0.name == name })
            for (code, expected) in [("unsure", DesktopErrorCode.unsure), ("undecided", .noAnswer)] {
                let found = try await error(Self.failure(code, "Who knows."), request.ask)
                #expect(found?.code == expected && found?.sentence == "Who knows.")
            }
        }
    }

    @Test("a daemon of another version is asked nothing")
    func otherVersion() async throws {
        let asked = Lock(false)
        let listener = try SocketListener(
            in: ControlSocket.openFolder(folder.path), named: ControlSocket.name,
            threads: ("fake", "fake-peer"), limit: 16
        ) { socket in
            let channel = ControlChannel(socket, timeout: .seconds(30))
            Self.greet(channel, version: ControlProtocol.version + 1)
            if (try? channel.readLine()) != nil { asked.withLock { $0 = true } }
        }
        defer { listener.stop() }
        let error = await #expect(throws: DesktopError.self) {
            try await ThreadPool.shared.run { [path = folder.path] in
                try ControlClient.connect(profileFolder: path)?.terms(for: "bob")
            }
        }
        #expect(error?.code == .malformed && !asked.withLock { $0 })
    }

    @Test("connecting without a mount returns nil")
    func missingServer() throws {
        #expect(try ControlClient.connect(profileFolder: folder.path) == nil)
        let listener = try serve([])
        #expect(try ControlClient.connect(profileFolder: folder.path) != nil)
        listener.stop()
        #expect(try ControlClient.connect(profileFolder: folder.path) == nil)
        // The socket of a killed process.
        _ = try ControlSocket.listen(in: ControlSocket.openFolder(folder.path), named: ControlSocket.name)
        #expect(try ControlClient.connect(profileFolder: folder.path) == nil)
        let error = #expect(throws: DesktopError.self) {
            try ControlClient.connect(profileFolder: folder.path("none"))
        }
        #expect(error?.code == .system)
    }

    @Test(
        "the mounted profile of a core is found"
    )
    func coreFolder() throws {
        #expect(try ControlClient.connect(coreFolder: folder.path("none")) == nil)
        for name in ["profile-1", "profile-2", "other"] { _ = try folder.makeFolder(name) }
        #expect(try ControlClient.connect(coreFolder: folder.path) == nil)
        func listen(_ name: String) throws -> SocketListener {
            try SocketListener(
                in: ControlSocket.openFolder(folder.path(name)), named: ControlSocket.name,
                threads: ("fake", "fake-peer"), limit: 1
            ) { _ in }
        }
        let other = try listen("other")
        #expect(try ControlClient.connect(coreFolder: folder.path) == nil)
        let second = try listen("profile-2")
        #expect(
            try ControlClient.connect(coreFolder: folder.path)?.profileFolder == folder.path("profile-2"))
        other.stop()
        second.stop()
    }

    @Test("connections beyond the limit are closed")
    func limit() async throws {
        let held = Lock<[OpenFile]>([])
        let isOver = Lock(false)
        let listener = try SocketListener(
            in: ControlSocket.openFolder(folder.path), named: "few", threads: ("few", "few-peer"), limit: 2
        ) { socket in
            held.withLock { $0.append(socket) }
            _ = send(socket.descriptor, "hello\n", 6, Int32(MSG_NOSIGNAL))
            while !isOver.withLock({ $0 }) { usleep(1000) }
        }
        defer { listener.stop() }
        let place = try ControlSocket.openFolder(folder.path)
        func connect() throws -> ControlChannel {
            ControlChannel(
                try #require(try ControlSocket.connect(in: place, named: "few")), timeout: .seconds(30))
        }
        let first = try (0..<2).map { _ in try connect() }
        for channel in first { #expect(try channel.readLine() == Array("hello".utf8)) }
        let third = try connect()
        #expect(throws: DesktopError.self) { try third.readLine() }
        isOver.withLock { $0 = true }
        try await wait(until: "one is served again") {
            (try? connect().readLine()) == Array("hello".utf8)
        }
        #expect(!listener.isStopped)
        listener.stop()
        #expect(listener.isStopped && access(folder.path("few"), F_OK) != 0)
    }
}
