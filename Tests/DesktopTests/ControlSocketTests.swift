import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Desktop

/// `chatfs send` to a mounted profile, over a real socket between real threads.
@Suite struct ControlSocketTests {
    let folder: TemporaryFolder
    let core = AnsweringCore()

    let service: AnsweringService

    init() throws {
        folder = try TemporaryFolder()
        service = AnsweringService(core)
    }

    private func serve(at path: String? = nil) throws -> ControlServer {
        try ControlServer(core, in: path ?? folder.path, service: service)
    }

    @Test func freedCopiesOrReasonsAreReturned() async throws {
        let server = try serve()
        defer { server.stop() }
        try await ThreadPool.shared.run { [folder] in
            let client = try #require(try ControlClient.connect(profileFolder: folder.path))
            let files = (1...Int64(FreeRequest.maxFiles)).map { FileID(Int64.max - $0) }
            #expect(try client.ask(FreeRequest(files, lastCopies: false)) == [files[0].rawValue])
            #expect(throws: DesktopError.self) { try client.ask(FreeRequest(files, lastCopies: true)) }
        }
    }

    @Test func deletionsOrReasonsAreReturned() async throws {
        let server = try serve()
        defer { server.stop() }
        try await ThreadPool.shared.run { [folder] in
            let client = try #require(try ControlClient.connect(profileFolder: folder.path))
            let items = [ItemID(3), ItemID(.max)]
            let answer = try client.ask(DeleteRequest(.carryOut, chat: "@7", items: items, forEveryone: true))
            #expect(answer == DeleteAnswer(chatName: "@7", files: 2, bytes: 7))
            let all = try client.ask(DeleteRequest(.carryOut, chat: "@7", onlySent: true, through: .max))
            #expect(all == DeleteAnswer(chatName: "@7", bytes: 5, next: .max))
            let refused = #expect(throws: DesktopError.self) {
                try client.ask(DeleteRequest(.find, entry: 13))
            }
            #expect(refused?.sentence == "There is no such file.")
        }
    }

    @Test func overlongReplyIsRefusedWithReason() async throws {
        core.names.withLock { $0 = (0..<100).map { "\($0)" + String(repeating: "x", count: 20_000) } }
        let server = try serve()
        defer { server.stop() }
        try await ThreadPool.shared.run { [folder] in
            let client = try #require(try ControlClient.connect(profileFolder: folder.path))
            let refused = #expect(throws: DesktopError.self) {
                try client.manage(ChatManagementRequest(.list, .contact))
            }
            #expect(refused?.code == .refused && refused?.sentence.contains("too much") == true)
        }
    }

    @Test func keepRulesAreShownChangedOrRefused() async throws {
        let server = try serve()
        defer { server.stop() }
        try await ThreadPool.shared.run { [folder] in
            let client = try #require(try ControlClient.connect(profileFolder: folder.path))
            var request = KeepRequest(.set, chat: "@4")
            (request.what, request.largest, request.minimumFree) = ("media", 5, 7)
            (request.metered, request.when) = (true, "expiring")
            let rule = try #require(try client.ask(request).first)
            #expect(rule.chat == "@4" && rule.what == "media" && rule.largest == 5)
            #expect(rule.minimumFree == 7 && rule.metered && rule.when == "expiring")
            do throws(DesktopError) {
                _ = try client.ask(KeepRequest(.show, chat: "nobody"))
                Issue.record("it was not refused")
            } catch {
                #expect(error.code == .refused && error.sentence == "There is no such chat.")
            }
        }
    }

    @Test func cacheRequestsAreAnsweredOrRefused() async throws {
        let server = try serve()
        defer { server.stop() }
        try await ThreadPool.shared.run { [folder, message = message("m1")] in
            let client = try #require(try ControlClient.connect(profileFolder: folder.path))
            #expect(
                try client.ask(CacheRequest(.hydrate, entry: 40)) == CacheAnswer(isDone: false, progress: 40))
            // Both kinds of requests use one connection.
            try client.send(message, to: "@bob")
            #expect(try client.ask(CacheRequest(.clear)) == CacheAnswer())
            let refused = #expect(throws: DesktopError.self) {
                try client.ask(CacheRequest(.dehydrate, entry: 13))
            }
            #expect(refused?.sentence == "The file is open: close it first.")
        }
    }

    private func message(_ id: String, size: UInt64 = 10) -> ComposedMessage {
        ComposedMessage(
            id: id, fileName: "an emoji 🎉.txt", size: size,
            source: FileSourceLocation(
                path: "/staging/send-\(id)",
                arguments: FileArguments(
                    key: [UInt8](repeating: 7, count: 32), nonce: [UInt8](repeating: 8, count: 24))),
            content: MessageContent(kind: .voice(seconds: 9), text: "a \"quoted\" caption\nof two lines"),
            modified: Timestamp(seconds: 1_700_000_000))
    }

    @Test func messageArrivesAsComposed() async throws {
        let server = try serve()
        defer { server.stop() }
        try await ThreadPool.shared.run { [folder, original = message("m1")] in
            let client = try #require(try ControlClient.connect(profileFolder: folder.path))
            try client.send(original, to: "@bob")
            try client.send(original, to: "@bob")
        }
        let sent = core.sent.withLock { $0 }
        #expect(sent.count == 1)
        let original = message("m1")
        #expect(sent[0].chat == .direct(7))
        #expect(sent[0].message.id == original.id)
        #expect(sent[0].message.fileName == original.fileName)
        #expect(sent[0].message.size == original.size)
        #expect(sent[0].message.source == original.source)
        #expect(sent[0].message.content == original.content)
        #expect(sent[0].message.modified == original.modified)
        #expect(service.shown.withLock { $0 } == [ItemID(1), ItemID(1)])
    }

    @Test func termsAreSentBeforeStaging() async throws {
        let server = try serve()
        defer { server.stop() }
        try await ThreadPool.shared.run { [folder] in
            let client = try #require(try ControlClient.connect(profileFolder: folder.path))
            #expect(client.profileFolder == folder.path)
            let terms = try client.terms(for: "#3")
            #expect(terms == SendingTerms(chat: "#3", largest: 1_000, stagingFolder: "/staging"))
            #expect(try client.terms(for: "Saved notes").largest == nil)
            let refused = #expect(throws: DesktopError.self) { try client.terms(for: "#closed") }
            #expect(refused?.sentence == "You may not send into this group.")
        }
    }

    @Test func repetitionWaitsAndHungUpRequestIsDropped() async throws {
        let server = try serve()
        defer { server.stop() }
        let (gone, first) = (message("gone"), message("m1"))
        core.hold()
        try await ThreadPool.shared.run { [folder, core] in
            let place = try ControlSocket.openFolder(folder.path)
            func request(_ message: ComposedMessage) throws -> ControlChannel {
                let channel = ControlChannel(
                    try #require(try ControlSocket.connect(in: place)), timeout: .seconds(30))
                _ = try channel.receive(ControlGreeting.self)
                try channel.send(ControlCall(id: 1, request: FileRequest(message, to: "#3")))
                return channel
            }
            let channels = [try request(first)]
            core.waitUntilHeld(1)
            let more = [try request(first), try request(first)]
            // Waits behind a pending send of its own message, and hangs up meanwhile.
            let behind = try request(gone)
            core.waitUntilHeld(2)
            do { _ = try request(gone) }
            core.release()
            for channel in channels + more + [behind] {
                #expect(try channel.receive(SendingReply.self, to: 1).get().item != nil)
            }
        }
        // After the abandoned request, which never reached the core.
        try await ThreadPool.shared.run { [folder] in
            try ControlClient.connect(profileFolder: folder.path)?.send(gone, to: "#3")
        }
        // Three requests for one message reached the core one after the other.
        #expect(core.most.withLock { $0 } == 1)
        #expect(core.sent.withLock { $0.map(\.message.id).sorted() } == ["gone", "m1"])
        #expect(core.calls.withLock { $0 } == 5, "three of one, two of the other")
    }

    @Test func unknownOutcomeDiffersFromRefusal() async throws {
        let server = try serve()
        defer { server.stop() }
        core.isUnsure.withLock { $0 = true }
        await ThreadPool.shared.run { [folder, message = message("m")] in
            let error = #expect(throws: DesktopError.self) {
                try ControlClient.connect(profileFolder: folder.path)?.send(message, to: "#3")
            }
            #expect(error?.code == .unsure)
        }
    }

    @Test(arguments: [
        ("nobody", "There is no chat nobody"), ("bob", "Several chats have this name"),
        ("#closed", "You may not send into this group."),
    ])
    func ambiguousChatIsRefusedWithReason(chat: String, reason: String) async throws {
        let server = try serve()
        defer { server.stop() }
        let error = await ThreadPool.shared.run { [folder, message = message("m")] () -> DesktopError? in
            do throws(DesktopError) {
                try ControlClient.connect(profileFolder: folder.path)?.send(message, to: chat)
                return nil
            } catch {
                return error
            }
        }
        #expect(error?.code == .refused)
        #expect(error?.sentence.hasPrefix(reason) == true)
    }

    @Test func coreRefusalReachesTheSender() async throws {
        let server = try serve()
        defer { server.stop() }
        await ThreadPool.shared.run { [folder, message = message("m", size: 2_000)] in
            _ = #expect(throws: DesktopError.self) {
                try ControlClient.connect(profileFolder: folder.path)?.send(message, to: "Saved notes")
            }
        }
        #expect(core.sent.withLock { $0.isEmpty })
    }

    @Test func noServerListensWithoutMount() async throws {
        let path = folder.path
        #expect(try await ThreadPool.shared.run { try ControlClient.connect(profileFolder: path) == nil })
        // The socket of a killed process.
        let server = try serve()
        let copy = try check("link") { link(path + "/control", path + "/kept") }
        #expect(copy == 0)
        server.stop()
        rename(path + "/kept", path + "/control")
        try await wait(until: "nobody listens") {
            try await ThreadPool.shared.run { try ControlClient.connect(profileFolder: path) == nil }
        }
        let next = try serve()
        #expect(try await ThreadPool.shared.run { try ControlClient.connect(profileFolder: path) != nil })
        next.stop()
    }

    @Test func socketFolderMayBeDeeperThanAddressLimit() async throws {
        var path = folder.path
        for _ in 0..<10 {
            path += "/a folder of forty characters in its name"
            try check("make a folder") { mkdir(path, 0o700) }
        }
        let server = try serve(at: path)
        defer { server.stop() }
        try await ThreadPool.shared.run { [path, message = message("deep")] in
            try ControlClient.connect(profileFolder: path)?.send(message, to: "#3")
        }
        #expect(core.sent.withLock { $0.map(\.chat) } == [.group(3)])
        var status = stat()
        #expect(lstat(path + "/control", &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test func concurrentCommandsAreServed() async throws {
        let server = try serve()
        defer { server.stop() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask { [folder, message = message("m\(number)")] in
                    try await ThreadPool.shared.run {
                        // An excess connection is closed and retried.
                        for _ in 0..<200 {
                            do throws(DesktopError) {
                                try ControlClient.connect(profileFolder: folder.path)?.send(message, to: "#3")
                                return
                            } catch {
                                guard error.code == .noAnswer else { throw error }
                                usleep(10_000)
                            }
                        }
                        Issue.record("never heard")
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(core.sent.withLock { $0.count } == 40)
    }

    @Test func invalidRequestsReachNoCoreAndStopNothing() async throws {
        let server = try serve()
        defer { server.stop() }
        let lines = try Self.nonsense(from: message("m"))
        try await ThreadPool.shared.run { [folder] in
            let place = try ControlSocket.openFolder(folder.path)
            for line in lines {
                let socket = try #require(try ControlSocket.connect(in: place))
                let channel = ControlChannel(socket, timeout: .seconds(10))
                do throws(DesktopError) {
                    _ = try channel.receive(ControlGreeting.self)
                    try channel.writeLine(line)
                    let reply = try channel.receive(ControlAnswer<SendingReply>.self)
                    #expect(reply.result == nil && reply.error != nil)
                } catch {
                    // Too long a line: the server hangs up during its transfer.
                    #expect(error.code == .noAnswer)
                }
            }
        }
        #expect(core.sent.withLock { $0.isEmpty })
        try await ThreadPool.shared.run { [folder, message = message("sane")] in
            try ControlClient.connect(profileFolder: folder.path)?.send(message, to: "#3")
        }
        #expect(core.sent.withLock { $0.count } == 1)
    }

    /// A valid request with many kinds of damage.
    private static func nonsense(from message: ComposedMessage) throws -> [[UInt8]] {
        func damaged(_ change: (inout FileRequest) -> Void) throws -> [UInt8] {
            var request = FileRequest(message, to: "#3")
            change(&request)
            let pair = try socketPair()
            try ControlChannel(pair.0, timeout: .seconds(5)).send(ControlCall(id: 1, request: request))
            return try ControlChannel(pair.1, timeout: .seconds(5)).readLine()
        }
        var lines = try [
            damaged { $0.staged = "../../etc/passwd" }, damaged { $0.staged = "" },
            damaged { $0.staged = ".." },
            damaged { $0.fileName = "a/b" }, damaged { $0.fileName = "" }, damaged { $0.key = "AAAA" },
            damaged { $0.nonce = "%%%" }, damaged { $0.kind = "virus" }, damaged { $0.seconds = -1 },
            damaged { $0.message = "" }, damaged { $0.preview = String(repeating: "a", count: 14_001) },
            damaged { $0.chat = "nowhere" },
        ]
        lines += ["", "{}", "null", "[[[[", #"{"id":1,"method":"send_file","chat":1}"#, "\u{0}"]
            .map { Array($0.utf8) }
        lines.append([UInt8](repeating: UInt8(ascii: "a"), count: 300_000))
        var generator = SeededGenerator(state: 11)
        let sane = try damaged { $0.chat = "nowhere" }
        for _ in 0..<200 {
            var line = sane
            for _ in 0..<4 {
                line[Int.random(in: 0..<line.count, using: &generator)] = UInt8.random(in: 32...126)
            }
            lines.append(line)
        }
        return lines
    }

    private static func socketPair() throws -> (OpenFile, OpenFile) {
        var pair: [Int32] = [0, 0]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        try check("make a pair of sockets") { socketpair(AF_UNIX, type, 0, &pair) }
        return (OpenFile(adopting: pair[0]), OpenFile(adopting: pair[1]))
    }
}
