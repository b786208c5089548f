import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Desktop

/// `chatfs ls`, `find` and `events` with a scripted daemon.
@Suite("Program clients", .timeLimit(.minutes(10)))
struct ProgramClientTests {
    private let folder: TemporaryFolder
    private let asked = Lock<[Asked]>([])
    /// Number of completely answered requests.
    private let answered = Lock(0)

    init() throws { folder = try TemporaryFolder() }

    /// All members of the requests in these tests.
    private struct Asked: Decodable {
        var id: Int64
        var method: ControlMethod
        var path: String?
        var chat: String?
        var states: [String]?
        var after: UInt64?
        var count: Int?
        var hash: Bool?
    }

    private static let greeting = #"{"chatfs":1,"profile":"ann","mountpoint":"/mnt","pid":1}"#

    /// Sends `greeting`, and for each request the lines of `answer`, with its id in place of `ID`.
    private func serve(
        greeting: String = greeting, _ answer: @escaping @Sendable (Asked) -> [String] = { _ in [] }
    ) throws -> SocketListener {
        try SocketListener(
            in: ControlSocket.openFolder(folder.path), named: "programs", threads: ("fake", "fake-peer"),
            limit: 4
        ) { [asked, answered] socket in
            let channel = ControlChannel(socket, timeout: .seconds(90))
            try? channel.writeLine(Array(greeting.utf8))
            while let request = try? channel.receive(Asked.self) {
                asked.withLock { $0.append(request) }
                let lines = answer(request)
                for line in lines {
                    try? channel.writeLine(Array(line.replacing("ID", with: "\(request.id)").utf8))
                }
                if lines.isEmpty { break }
                answered.withLock { $0 += 1 }
            }
            shutdown(socket.descriptor, Int32(SHUT_RDWR))
        }
    }

    private func use<Result: Sendable>(_ body: @escaping @Sendable (ControlClient) throws -> Result)
        async throws -> Result
    {
        try await ThreadPool.shared.run { [path = folder.path("programs")] in
            try body(ControlClient(path: path))
        }
    }

    @Test("other versions and invalid greetings are refused")
    func greetings() async throws {
        for greeting in [
            "{\"chatfs\":2,\"profile\":\"ann\",\"mountpoint\":\"/mnt\",\"pid\":1}", "{}", "hello", "",
        ] {
            let listener = try serve(greeting: greeting)
            let error = await #expect(throws: DesktopError.self) { try await use { _ in } }
            #expect(error?.code == .malformed, "\(greeting)")
            listener.stop()
        }
        #expect(asked.withLock { $0.isEmpty })
        let listener = try serve()
        #expect(try await use { try $0.greeting.profile } == "ann")
        listener.stop()
    }

    @Test(
        "a missing socket is reported", arguments: ["none", "none/at all", "file", ""])
    func missingSocket(name: String) async throws {
        try folder.write([1], to: "file")
        let path = name.isEmpty ? "" : folder.path(name)
        let error = await #expect(throws: DesktopError.self) {
            try await ThreadPool.shared.run { _ = try ControlClient(path: path) }
        }
        #expect(error?.code == .system)
    }

    @Test("replies are matched by id")
    func numbers() async throws {
        let listener = try serve { request in
            request.path == "wrong"
                ? ["{\"id\":99,\"result\":{\"item\":\(Self.item(1))}}"]
                : ["{\"id\":ID,\"result\":{\"done\":true}}"]
        }
        defer { listener.stop() }
        try await use { client in
            for _ in 0..<3 {
                let answer = try client.answer(to: BareRequest<DoneAnswer>(method: .suspend))
                #expect(answer.done)
            }
            let error = #expect(throws: DesktopError.self) { try client.item(at: "wrong") }
            #expect(error?.code == .malformed)
        }
        #expect(asked.withLock { $0.map(\.id) } == [1, 2, 3, 4])
    }

    @Test("each refusal keeps its code and sentence", arguments: ProgramErrorCode.allCases)
    func refusals(code: ProgramErrorCode) async throws {
        let listener = try serve { _ in
            ["{\"id\":ID,\"error\":{\"code\":\"\(code.rawValue)\",\"message\":\"Not this one.\"}}"]
        }
        defer { listener.stop() }
        try await use { client in
            let error = #expect(throws: ProgramError.self) { try client.item(at: "a") }
            #expect(error?.code == code && error?.sentence == "Not this one.")
        }
    }

    @Test("incomplete replies are malformed")
    func broken() async throws {
        for (answer, code) in [
            ("{\"id\":ID}", DesktopErrorCode.malformed), ("{\"id\":ID,\"result\":7}", .malformed),
            ("[]", .malformed),
        ] {
            let listener = try serve { _ in [answer] }
            try await use { client in
                let error = #expect(throws: DesktopError.self) { try client.chats() }
                #expect(error?.code == code, "\(answer)")
            }
            listener.stop()
        }
        let listener = try serve()
        defer { listener.stop() }
        try await use { client in
            let error = #expect(throws: DesktopError.self) { try client.chats() }
            #expect(error?.code == .noAnswer)
        }
    }

    private static func item(_ number: Int) -> String {
        """
        {"number":\(number),"path":"p/\(number)","name":"\(number)","size":1,"modified":0,"state":"remote","progress":0}
        """
    }

    @Test("items are requested page by page")
    func pages() async throws {
        let listener = try serve { request in
            if request.method == .listChats {
                let chats = ["@1", "#2"].map {
                    "{\"number\":1,\"chat\":\"\($0)\",\"kind\":\"direct\",\"folder\":\"f\",\"name\":\"n\",\"updated\":0}"
                }
                return ["{\"id\":ID,\"result\":{\"chats\":[\(chats.joined(separator: ","))]}}"]
            }
            let first = Int(request.after ?? 0) + 1
            let items = (first...(first + 1)).map(Self.item).joined(separator: ",")
            let next = first < 5 ? ",\"next\":\(first + 1)" : ""
            return ["{\"id\":ID,\"result\":{\"items\":[\(items)]\(next)}}"]
        }
        defer { listener.stop() }
        let (one, all) = try await use { client in
            var (one, all): ([UInt64], [UInt64]) = ([], [])
            try client.items(of: "@1", states: ["remote"]) { one.append($0.number) }
            try client.items(of: nil, states: nil, hash: true) { all.append($0.number) }
            return (one, all)
        }
        #expect(one == Array(1...6) && all == one + one)
        let requests = asked.withLock { $0 }
        #expect(requests.prefix(3).map(\.after) == [nil, 2, 4])
        #expect(
            requests.prefix(3).allSatisfy { $0.states == ["remote"] && $0.chat == "@1" && $0.hash == nil })
        // Pages with digests are small, because hashing takes time.
        let hashing = requests.dropFirst(4)
        #expect(hashing.allSatisfy { $0.hash == true && ($0.count ?? .max) < (requests[0].count ?? 0) })
        #expect(hashing.map(\.chat) == ["@1", "@1", "@1", "#2", "#2", "#2"])
    }

    @Test("a caller may stop between pages")
    func enough() async throws {
        struct Enough: Error {}
        let listener = try serve { _ in
            ["{\"id\":ID,\"result\":{\"items\":[\(Self.item(1)),\(Self.item(2))],\"next\":2}}"]
        }
        defer { listener.stop() }
        try await use { client in
            _ = #expect(throws: Enough.self) {
                try client.items(of: "@1", states: nil) { _ in throw Enough() }
            }
        }
        #expect(asked.withLock { $0.count } == 1)
    }

    /// An event of a mount of a later version.
    private static let laterEvent = #"{"event":"item_archived","item":7}"#

    @Test(
        "events follow subscribe until the end"
    )
    func events() async throws {
        let listener = try serve { request in
            guard request.method == .subscribe else { return [] }
            return ["{\"id\":ID,\"result\":{\"done\":true}}", Self.laterEvent]
                + ProgramEvent.Kind.allCases.map { "{\"event\":\"\($0.rawValue)\"}" }
        }
        defer { listener.stop() }
        try await use { client in
            try client.subscribe()
            for kind in ProgramEvent.Kind.allCases {
                let event = try client.nextEvent { false }
                #expect(event?.event == kind)
            }
            #expect(try client.nextEvent { true } == nil)
            var looks = 0
            #expect(
                try client.nextEvent {
                    looks += 1
                    return looks > 1
                } == nil)
            // This daemon fails another request.
            try? client.subscribe()
            _ = try? client.chats()
            let error = #expect(throws: DesktopError.self) {
                while try client.nextEvent(unless: { false }) != nil {}
            }
            #expect(error?.code == .noAnswer)
        }
    }

    @Test("pending events can be dropped")
    func drop() async throws {
        let listener = try serve { request in
            let answer = ["{\"id\":ID,\"result\":{\"done\":true}}"]
            return request.method == .subscribe
                ? answer + [Self.laterEvent] + (0..<50).map { _ in "{\"event\":\"missed\"}" } : answer
        }
        defer { listener.stop() }
        let client = try await use { client in
            try client.subscribe()
            return client
        }
        try await wait(until: "all was said") { answered.withLock { $0 == 1 } }
        try await ThreadPool.shared.run {
            try client.dropEvents()
            #expect(try client.answer(to: BareRequest<DoneAnswer>(method: .suspend)).done)
        }
    }
}
