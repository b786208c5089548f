import Base
import ChatCore
import ScriptedCore
import Testing

@testable import OfficialCore

@Suite("Comparison of index and core database")
struct ComparisonTests {
    private let place: IndexPlace
    /// The rows for each query, by a part of its text; nil refuses every query.
    private let answers = Lock<[String: [String]]?>([:])
    private let asked = Lock<[String]>([])
    private let connection: CoreConnection
    private let comparison: Comparison

    init() throws {
        place = try IndexPlace()
        let transport = ScriptedTransport { [answers, asked] text in
            asked.withLock { $0.append(text) }
            let found = answers.withLock { answers in
                answers.map { $0.first { text.contains($0.key) }?.value ?? [] }
            }
            guard let found else { return #"{"type":"chatCmdError","chatError":{"type":"error"}}"# }
            return #"{"type":"sQLResult","rows":["header"\#(found.map { ",\"\($0)\"" }.joined())]}"#
        }
        connection = CoreConnection(transport, HeldCommands())
        comparison = Comparison(connection, place.index, of: Profile(id: 1, displayName: "alice"))
    }

    private func answer(_ question: String, _ rows: [String]) { answers.withLock { $0?[question] = rows } }

    /// Adds chats with items whose history walk is complete.
    private func known(_ chats: [(String, ClosedRange<Int64>)]) throws {
        for (chat, ids) in chats {
            _ = try place.take("newChatItems", ids.map { ScriptedMessage(id: $0, chat: chat, name: "\($0)") })
        }
        try endWalks()
    }

    private func endWalks() throws {
        try place.index.write { tables in
            for walk in try tables.walks.unfinished() { try tables.walks.end(walk) }
        }
    }

    private func walked() throws -> [String] {
        try place.index.read { try $0.walks.unfinished().map(\.reference.description).sorted() }
    }

    private static let counts = "count(*) FROM files"

    @Test("only chats with other file counts are walked")
    func counts() async throws {
        try known([("@1", 1...5), ("@2", 6...7), ("#3", 8...8), ("*1", 9...9)])
        answer(Self.counts, ["1|0|0|5", "2|0|0|2", "0|3|0|1", "0|0|1|1"])
        try await comparison.compareCounts(.whole)
        #expect(try walked() == [])
        answer(Self.counts, ["1|0|0|4", "2|0|0|3", "0|0|1|1"])
        try await comparison.compareCounts(.whole)
        #expect(try walked() == ["#3", "@1", "@2"])
    }

    @Test(
        "a remaining difference starts no endless walks"
    )
    func left() async throws {
        try known([("@1", 1...5)])
        answer(Self.counts, ["1|0|0|7"])
        try await comparison.compareCounts(.newest)
        #expect(try walked() == ["@1"])
        // A chat is not compared during its walk.
        try await comparison.compareCounts(.newest)
        try endWalks()
        try await comparison.compareCounts(.newest)
        #expect(try walked() == [])
        try await comparison.compareCounts(.whole)
        #expect(try walked() == ["@1"])
        try endWalks()
        answer(Self.counts, ["1|0|0|8"])
        try await comparison.compareCounts(.newest)
        #expect(try walked() == ["@1"])
        try endWalks()
        // After an equal comparison the same difference starts a new walk.
        answer(Self.counts, ["1|0|0|5"])
        try await comparison.compareCounts(.newest)
        #expect(try walked() == [])
        answer(Self.counts, ["1|0|0|8"])
        try await comparison.compareCounts(.newest)
        #expect(try walked() == ["@1"])
    }

    @Test("one comparison covers the newest thousand items")
    func newest() async throws {
        try known([("@1", 1...600), ("@2", 601...1205)])
        answer(Self.counts, ["1|0|0|396", "2|0|0|605"])
        try await comparison.compareCounts(.newest)
        #expect(asked.withLock { $0.last }?.contains("f.chat_item_id >= 205 ") == true)
        #expect(try walked() == [])
        try await comparison.compareCounts(.whole)
        #expect(asked.withLock { $0.last }?.contains("f.chat_item_id >= 0 ") == true)
        #expect(try walked() == ["@1"])
    }

    @Test(
        "a core without database queries is walked completely")
    func silent() async throws {
        try known([("@1", 1...2), ("@2", 3...3)])
        answers.withLock { $0 = nil }
        try await comparison.compareCounts(.newest)
        #expect(try walked() == ["@1", "@2"])
        #expect(try place.item(1)?.file?.status == .rcvInvitation(described: true))
        try endWalks()
        #expect(try await !comparison.hasChanged())
        try await comparison.lookForParts()
        #expect(try walked() == [])
    }

    @Test("a chat is compared after its walk")
    func leftOut() async throws {
        try known([("@1", 1...5), ("@2", 6...7)])
        try place.index.write { try $0.walks.repeatWalks(of: "@1") }
        answer(Self.counts, ["1|0|0|4", "2|0|0|2"])
        for (scope, number) in [(ReconciliationScope.newest, 4), (.whole, 3)] {
            #expect(!comparison.hasLeftOut)
            try await comparison.compareCounts(scope)
            #expect(comparison.hasLeftOut)
            #expect(try walked() == ["@1"], "as it was")
            try endWalks()
            answer(Self.counts, ["1|0|0|\(number)", "2|0|0|9"])
            try await comparison.compareCounts(.leftOut)
            #expect(try walked() == ["@1"] && !comparison.hasLeftOut)
            answer(Self.counts, ["1|0|0|\(number)", "2|0|0|2"])
        }
        // An unreadable chat and a core without queries cause no endless comparisons.
        try await comparison.compareCounts(.whole)
        try await comparison.compareCounts(.leftOut)
        #expect(try walked() == ["@1"] && !comparison.hasLeftOut)
        try await comparison.compareCounts(.whole)
        try endWalks()
        answers.withLock { $0 = nil }
        try await comparison.compareCounts(.leftOut)
        #expect(try walked() == [] && !comparison.hasLeftOut)
    }

    @Test("a failed comparison is repeated")
    func failure() async throws {
        answer("total_changes()", ["5"])
        #expect(try await comparison.hasChanged())
        #expect(try await !comparison.hasChanged())
        comparison.noteFailure()
        #expect(try await comparison.hasChanged())
        #expect(try await !comparison.hasChanged())
    }

    @Test("a changed counter reports a write once")
    func changes() async throws {
        for (number, hasChanged) in [
            ("0", false), ("5", true), ("5", false), ("4", true), ("4", false), ("9", true),
        ] {
            answer("total_changes()", [number])
            #expect(try await comparison.hasChanged() == hasChanged, "\(number)")
        }
        answer("total_changes()", [])
        #expect(try await !comparison.hasChanged())
    }

    @Test(
        "unlisted support scopes are walked"
    )
    func parts() async throws {
        try known([("#3", 1...1)])
        answer("group_scope_tag IS NOT NULL", ["3|0", "3|9", "0|9", "x|y", "3", "3|1|2", "-4|1"])
        try await comparison.lookForParts()
        #expect(try walked() == ["#3(_support)", "#3(_support:9)"])
        try endWalks()
        try await comparison.lookForParts()
        #expect(try walked() == [], "they are known by now")
    }

    // MARK: - Uploads whose end the core forgot

    private func uploading(_ ids: ClosedRange<Int64>) throws {
        let messages = ids.map { id in
            var message = ScriptedMessage(id: id, chat: "@1", isSent: true, name: "\(id)")
            message.status = #"{"type":"sndTransfer","sndProgress":1,"sndTotal":2}"#
            return message
        }
        _ = try place.take("newChatItems", messages)
    }

    private func isLost(_ id: Int64) throws -> Bool {
        if case .sndError = try place.item(id)?.file?.status { true } else { false }
    }

    @Test(
        "a half-finished upload fails at the third look"
    )
    func lost() async throws {
        let uploads = LostUploads(connection, place.index)
        try await uploads.compare()
        #expect(!uploads.hasUploads && asked.withLock { $0.isEmpty })
        try uploading(1...2)
        _ = await place.told()
        answer("FROM files WHERE file_id IN", ["AB|1001", "CD|1002"])
        for (complete, first, second) in [
            (["AB|1"], false, false), (["AB|1", "CD|1"], false, false), ([], false, false),
            (["AB|1", "CD|1"], false, false),
            (["AB|1"], false, false), (["AB|1", "CD|1"], true, false),
        ] {
            answer("FROM snd_files", complete)
            try await uploads.compare()
            #expect(uploads.hasUploads)
            #expect(try isLost(1) == first && isLost(2) == second)
        }
        #expect(await place.told() == ["sndFileError"])
        // The upload stays failed, although the core still reports progress.
        try uploading(1...1)
        #expect(try isLost(1))
    }

    @Test("only the newest twenty uploads are checked")
    func bounds() async throws {
        let uploads = LostUploads(connection, place.index)
        try uploading(1...25)
        try await uploads.compare()
        let question = try #require(asked.withLock { $0.last { $0.contains("file_id IN") } })
        let numbers = question.split(separator: "(").last?.prefix { $0 != ")" }.split(separator: ",")
            .compactMap { Int64($0) }
        #expect(numbers == (1006...1025).reversed())
        let agentIsAsked = asked.withLock {
            $0.contains { $0.contains("FROM snd_files") && !$0.contains("msg_deliveries") }
        }
        #expect(!agentIsAsked, "the core knows none of them")
    }
}
