import Base
import ChatCore
import FoundationEssentials
import Glibc
import Posix
import TestSupport
import Testing

@testable import Desktop

/// A mount's program socket, over real sockets between real threads.
@Suite("Program sockets", .timeLimit(.minutes(10)))
struct ProgramSocketTests {
    let folder: TemporaryFolder
    private let service = AnsweringService()

    init() throws { folder = try TemporaryFolder() }

    private func serve() throws -> (server: ControlServer, path: String) {
        let socket = try ProgramSocket(
            runtimeFolder: try folder.makeFolder("run"), profileFolder: folder.path)
        return (try serve(at: socket), socket.path)
    }

    private func serve(at socket: ProgramSocket) throws -> ControlServer {
        try ControlServer(
            profileFolder: folder.path, core: AnsweringCore(), mountpoint: "/mnt/Chats", service: service,
            at: socket)
    }

    /// Connects a program that sends arbitrary lines.
    private func connect(to path: String) throws -> ControlChannel {
        let parts = path.split(separator: "/")
        let place = try ControlSocket.openFolder("/" + parts.dropLast().joined(separator: "/"))
        let socket = try ControlSocket.connect(in: place, named: String(try #require(parts.last)))
        return ControlChannel(try #require(socket), timeout: .seconds(30))
    }

    private func ask(_ channel: ControlChannel, _ line: String) throws -> ControlAnswer<ChatsAnswer> {
        try channel.writeLine(Array(line.utf8))
        return try channel.receive(ControlAnswer<ChatsAnswer>.self)
    }

    @Test("requests are answered in order with their ids")
    func requests() async throws {
        let (server, path) = try serve()
        defer { server.stop() }
        try await ThreadPool.shared.run {
            let client = try ControlClient(path: path)
            let greeting = try client.greeting
            #expect(greeting.profile == "ann" && greeting.chatfs == ControlProtocol.version)
            #expect(try client.item(at: "Alice/a.txt").path == "Alice/a.txt")
            let refused = #expect(throws: ProgramError.self) {
                try client.answer(to: EntryRequest(method: .pin, path: "Alice/a.txt"))
            }
            #expect(refused?.code == .refused && refused?.sentence == "Not this one.")
            for method in [ControlMethod.hydrate, .dehydrate, .unpin, .cancel, .retry] {
                let answer = try client.answer(to: EntryRequest(method: method, path: "Alice/a.txt"))
                #expect(answer == EntryAnswer(item: nil))
            }
            let last = EntryRequest(method: .free, path: "Alice/a.txt", last: true)
            #expect(try client.answer(to: last).freed == 7)
            let channel = try connect(to: path)
            _ = try channel.readLine()
            // All at once: they queue in the socket.
            for number in 1...20 {
                try channel.writeLine(Array("{\"id\":\(number),\"method\":\"list_chats\"}".utf8))
            }
            for number in 1...20 {
                #expect(try channel.receive(ControlAnswer<ChatsAnswer>.self).id == Int64(number))
            }
        }
    }

    @Test("each method without a result changes its object")
    func changes() async throws {
        let (server, path) = try serve()
        defer { server.stop() }
        try await ThreadPool.shared.run {
            let channel = try connect(to: path)
            _ = try channel.readLine()
            for members in [
                #""method":"mute","chat":"@1""#, #""method":"unmute","chat":"@1""#,
                #""method":"mark_read","chat":"@1""#, #""method":"send_text","chat":"@1","text":"hi""#,
                #""method":"keep","chat":"@1","what":"all""#, #""method":"keep","chat":"@1""#,
                #""method":"upload","chat":"@1","source":"/x""#,
                #""method":"approve","relays":["smp://a","xftp://b"]"#, #""method":"approve""#,
                #""method":"suspend""#, #""method":"resume""#,
            ] {
                try channel.writeLine(Array("{\"id\":1,\(members)}".utf8))
                #expect(try channel.readLine() == Array(#"{"id":1,"result":{"done":true}}"#.utf8))
            }
        }
        #expect(
            service.changes.withLock { $0 } == [
                "mute: @1", "unmute: @1", "read: @1", "send hi: @1", "keep all: @1", "keep nothing: @1",
                "upload: @1", "approve: smp://a xftp://b", "approve: ", "suspend: ", "resume: ",
            ])
    }

    @Test("both sockets serve commands and programs")
    func sockets() async throws {
        let (server, path) = try serve()
        defer { server.stop() }
        try await ThreadPool.shared.run { [folder] in
            let command = try #require(try ControlClient.connect(profileFolder: folder.path))
            let program = try ControlClient(path: path)
            for client in [command, program] {
                #expect(try client.greeting.mountpoint == "/mnt/Chats")
                #expect(try client.terms(for: "#3").chat == "#3")
                #expect(try client.item(at: "Alice/a.txt").chat == "@1")
                try client.subscribe()
            }
        }
    }

    @Test("an invalid line is explained and skipped")
    func malformed() async throws {
        let (server, path) = try serve()
        defer { server.stop() }
        try await ThreadPool.shared.run {
            let channel = try connect(to: path)
            _ = try channel.readLine()
            for line in ["nonsense", "{}", "[]", "{\"id\":\"x\",\"method\":\"list_chats\"}", "\u{0}", ""] {
                let answer = try ask(channel, line)
                #expect(answer.error?.code == .malformed && answer.id == nil, "\(line)")
            }
            let unknown = try ask(channel, "{\"id\":7,\"method\":\"format_disk\"}")
            #expect(unknown.id == 7 && unknown.error?.message.contains("no such method") == true)
            let wrong = try ask(channel, "{\"id\":8,\"method\":\"get_item\",\"path\":5}")
            #expect(wrong.id == 8 && wrong.error?.message.contains("wrong type") == true)
            for members in ["", ",\"path\":null", ",\"Path\":\"Alice/a.txt\""] {
                let missing = try ask(channel, "{\"id\":8,\"method\":\"get_item\"\(members)}")
                #expect(missing.error?.code == .invalidParameter)
                #expect(missing.error?.message == "The request names no path.")
            }
            let noChat = try ask(channel, "{\"id\":8,\"method\":\"sending_terms\"}")
            #expect(noChat.error?.code == .invalidParameter)
            #expect(noChat.error?.message == "The request names no chat.")
            let more = try ask(channel, "{\"id\":9,\"method\":\"list_chats\",\"later\":{\"a\":[1]}}")
            #expect(more.result != nil, "members of later versions are passed over")
            let deep = String(repeating: "[", count: 100_000)
            #expect(try ask(channel, deep).error?.code == .malformed)
            // Longer than the limit: the connection ends, the mount continues.
            let long = [UInt8](repeating: UInt8(ascii: "x"), count: 2 * ControlChannel.maxLineLength)
            #expect(throws: DesktopError.self) {
                try channel.writeLine(long)
                _ = try channel.readLine()
            }
            let again = try connect(to: path)
            _ = try again.readLine()
            #expect(try ask(again, "{\"id\":1,\"method\":\"list_chats\"}").result != nil)
        }
    }

    @Test("events arrive between replies")
    func events() async throws {
        let (server, path) = try serve()
        defer { server.stop() }
        try await ThreadPool.shared.run { [service] in
            let client = try ControlClient(path: path)
            service.tell(ProgramEvent(.missed))
            #expect(!service.isHeard, "nobody listens yet")
            try client.subscribe()
            service.tell(ProgramEvent(.vanished, number: 5, path: "Alice/x"))
            service.tell(ProgramEvent(.coreReachable))
            let events = try (0..<2).map { _ in try client.nextEvent { false }?.event }
            #expect(events == [.vanished, .coreReachable])
            var isEnded = false
            let none = try client.nextEvent {
                defer { isEnded = true }
                return isEnded
            }
            #expect(none == nil)
        }
        // A disconnected program gets no more events.
        try await wait(until: "its subscription is cancelled") { !service.isHeard }
    }

    @Test("a program chooses its events")
    func interests() async throws {
        let (server, path) = try serve()
        defer { server.stop() }
        try await ThreadPool.shared.run { [service] in
            for (words, interest) in [
                ("", ProgramInterest.entries), (#","what":"entries""#, .entries),
                (#","what":"status""#, .status),
            ] {
                let channel = try connect(to: path)
                _ = try channel.readLine()
                let wrong = try ask(channel, #"{"id":1,"method":"subscribe","what":"weather"}"#)
                #expect(wrong.error?.code == .invalidParameter)
                try channel.writeLine(Array(#"{"id":2,"method":"subscribe"\#(words)}"#.utf8))
                #expect(try channel.readLine() == Array(#"{"id":2,"result":{"done":true}}"#.utf8))
                #expect(service.interests.withLock { $0.last } == interest)
            }
            #expect(service.interests.withLock { $0.count } == 3, "a wrong word subscribes to nothing")
        }
    }

    @Test("a program may change its interest")
    func changedInterest() async throws {
        let (server, path) = try serve()
        defer { server.stop() }
        try await ThreadPool.shared.run { [service] in
            let channel = try connect(to: path)
            _ = try channel.readLine()
            for what in ["status", "status", "entries"] {
                try channel.writeLine(Array(#"{"id":2,"method":"subscribe","what":"\#(what)"}"#.utf8))
                #expect(try channel.readLine() == Array(#"{"id":2,"result":{"done":true}}"#.utf8))
            }
            #expect(service.interests.withLock { $0 } == [.status, .entries])
            service.tell(ProgramEvent(.coreReachable))
            #expect(try channel.receive(ProgramEvent.self).event == .coreReachable)
        }
    }

    @Test("unmounting closes connections")
    func end() async throws {
        let (server, path) = try serve()
        let client = try await ThreadPool.shared.run {
            let client = try ControlClient(path: path)
            try client.subscribe()
            return client
        }
        server.stop()
        await ThreadPool.shared.run {
            let error = #expect(throws: DesktopError.self) { _ = try client.nextEvent { false } }
            #expect(error?.code == .noAnswer)
            _ = #expect(throws: DesktopError.self) { _ = try ControlClient(path: path) }
        }
        #expect(access(path, F_OK) == -1, "the socket is gone")
        try await wait(until: "its subscription is cancelled") { !service.isHeard }
    }

    @Test("sockets are private; stale ones are removed")
    func place() async throws {
        let (server, path) = try serve()
        defer { server.stop() }
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(stat(folder.path("run/chatfs"), &status) == 0 && status.st_mode & 0o777 == 0o700)
        #expect(path == folder.path("run/chatfs/\(getpid()).socket"))
        // Unused process ids.
        for name in ["4194305.socket", "other.socket", "4194305.txt"] {
            _ = try folder.write([], to: "run/chatfs/" + name)
        }
        // Ids of living processes without a listener: one socket is new, one old.
        let other = try await RunningProcess.start(ChildProcess.Settings(Shell.find("sleep"), ["60"]))
        defer { other.send(SIGKILL) }
        let young = "\(other.processIdentifier).socket"
        for (name, age) in [("1.socket", 3600), (young, 0)] {
            let program = "import socket,sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])"
            let path = folder.path("run/chatfs/" + name)
            #expect(try await Shell.run("python3", ["-c", program, path]).succeeded)
            var times = [
                timespec(tv_sec: time(nil) - age, tv_nsec: 0), timespec(tv_sec: time(nil) - age, tv_nsec: 0),
            ]
            #expect(utimensat(AT_FDCWD, path, &times, 0) == 0)
        }
        _ = try ProgramSocket(runtimeFolder: folder.path("run"), profileFolder: folder.path)
        let names = Set(try folder.names(in: "run/chatfs"))
        #expect(names == ["\(getpid()).socket", "other.socket", "4194305.txt", young])
    }

    @Test(
        "the profile's folder replaces a missing runtime folder",
        arguments: ["missing", "open", "relative", "unset"])
    func fallback(_ kind: String) throws {
        if kind == "open" {
            _ = try folder.makeFolder("open")
            _ = try folder.makeFolder("open/chatfs")
            #expect(chmod(folder.path("open/chatfs"), 0o755) == 0)
        }
        let runtime: String? =
            switch kind {
            case "unset": nil
            case "relative": "run"
            default: folder.path(kind)
            }
        let socket = try ProgramSocket(runtimeFolder: runtime, profileFolder: folder.path)
        #expect(socket.path == folder.path("programs"))
        let server = try serve(at: socket)
        defer { server.stop() }
        #expect(try ControlClient(path: socket.path).greeting.profile == "ann")
    }

    @Test("connections beyond the limit are closed")
    func limit() async throws {
        let (server, path) = try serve()
        defer { server.stop() }
        var clients = try await ThreadPool.shared.run {
            try (0..<32).map { _ in try ControlClient(path: path) }
        }
        await ThreadPool.shared.run {
            _ = #expect(throws: DesktopError.self) { _ = try ControlClient(path: path) }
        }
        clients.removeLast()
        try await wait(until: "another is let in") { (try? ControlClient(path: path)) != nil }
        withExtendedLifetime(clients) {}
    }
}
