import Base
import ChatCore
import Store
import TestSupport
import Testing

@testable import Keeping

/// Rows not written by this version.
@Suite("Rules of other versions")
struct UnknownRuleTests {
    private let folder: TemporaryFolder
    private static let alice = ChatReference.direct(1)

    init() throws { folder = try TemporaryFolder() }

    private func insert(_ name: String, kinds: String = "'all'", largest: String = "5") throws {
        let database = try Database(path: folder.path("keep.sqlite"), migrations: KeepStore.migrations)
        defer { database.close() }
        try database.transaction { connection in
            try connection.execute(
                "INSERT OR REPLACE INTO rule (chat, kinds, largest) VALUES (?, \(kinds), \(largest))", name)
        }
    }

    @Test(
        "a rule of an unknown chat is ignored",
        arguments: [
            "x", "@", "@x", "@1x", "channel:7", " ", "\u{0}", "direct", "@99999999999999999999", "@1 ",
        ])
    func noChat(name: String) throws {
        let store = try KeepStore(in: folder.path)
        try store.change(Self.alice, by: KeepOverride(kinds: .media))
        try insert(name)
        let rules = try store.rules()
        #expect(rules.profile == KeepOverride() && rules.usual == KeepRule())
        #expect(rules.chats == [Self.alice: KeepOverride(kinds: .media)])
        #expect(rules.rule(for: .direct(2)).kinds == .never)
        store.close()
    }

    @Test(
        "the rule of all chats is unaffected",
        arguments: ["!", "z"])
    func beside(name: String) throws {
        let store = try KeepStore(in: folder.path)
        try store.change(nil, by: KeepOverride(kinds: .media, largest: 100))
        try insert(name)
        #expect(try store.rules().profile == KeepOverride(kinds: .media, largest: 100))
        try store.reset(nil)
        #expect(try store.rules().profile.isEmpty)
        store.close()
    }

    @Test("invalid words are damage")
    func damagedWords() throws {
        let store = try KeepStore(in: folder.path)
        try insert("@1", kinds: "NULL", largest: "NULL")
        #expect(try store.rules().chats[Self.alice]?.isEmpty == true)
        // The table's constraints refuse such words.
        #expect(throws: StoreError.self) { try insert("@1", kinds: "'everything'") }
        store.close()
    }
}
