import ChatCore
import Store
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Inbox table")
struct InboxTableTests {
    private let stage: StoreStage

    init() throws { stage = try StoreStage() }

    private static let entries: [InboxEntry] = [
        .newItem(ItemID(1)), .described(ItemID(2)), .cancelled(ItemID(3)), .failed(ItemID(4)),
        .unsent(ItemID(5)), .deleted(ItemID(6), storedName: "a name"), .deleted(ItemID(7), storedName: nil),
        .chatUpdated, .messageLogGrew,
    ]

    private func waiting(_ profile: Int64, _ limit: Int = 100) throws -> [InboxTable.Waiting] {
        try stage.change { try $0.inbox.waiting(for: profile, limit: limit) }
    }

    @Test("entries arrive in order at their profile")
    func entries() throws {
        try stage.change { tables in
            for (place, entry) in Self.entries.enumerated() {
                try tables.inbox.post(entry, to: ChatSide(profile: stage.alice, chat: Int64(place)))
                try tables.inbox.post(.chatUpdated, to: ChatSide(profile: stage.bob, chat: 77))
            }
        }
        let found = try waiting(stage.alice)
        #expect(found.map(\.entry) == Self.entries)
        #expect(found.map(\.chat) == Self.entries.indices.map { Int64($0) })
        #expect(found.map(\.id) == found.map(\.id).sorted())
        #expect(try waiting(stage.bob).allSatisfy { $0.entry == .chatUpdated && $0.chat == 77 })
        #expect(try waiting(stage.alice, 3).map(\.entry) == Array(Self.entries.prefix(3)))
        #expect(try waiting(stage.alice, 0).isEmpty && waiting(999).isEmpty)
    }

    @Test("entries are removed singly or per profile")
    func removing() throws {
        try stage.change { tables in
            for profile in [stage.alice, stage.bob] {
                for entry in Self.entries {
                    try tables.inbox.post(entry, to: ChatSide(profile: profile, chat: 1))
                }
            }
        }
        let second = try waiting(stage.alice)[1]
        try stage.change { try $0.inbox.remove(second.id) }
        var left = Self.entries
        left.remove(at: 1)
        #expect(try waiting(stage.alice).map(\.entry) == left)
        try stage.change { try $0.inbox.removeAll(for: stage.alice) }
        #expect(try waiting(stage.alice).isEmpty && waiting(stage.bob).map(\.entry) == Self.entries)
    }

    @Test("entry ids are never reused")
    func numbers() throws {
        var last: Int64 = 0
        for _ in 0..<3 {
            try stage.change { try $0.inbox.post(.chatUpdated, to: ChatSide(profile: stage.alice, chat: 1)) }
            let id = try #require(try waiting(stage.alice).first?.id)
            #expect(id > last)
            last = id
            try stage.change { try $0.inbox.remove(id) }
        }
    }

    @Test("file is announced while its message is pending")
    func announcing() throws {
        let (item, file) = try stage.file(.rcvInvitation, of: stage.bob)
        func isAnnounced() throws -> Bool { try stage.change { try $0.inbox.announces(file) } }
        let side = ChatSide(profile: stage.bob, chat: 1)
        #expect(try !isAnnounced())
        for entry in Self.entries.dropFirst() { try stage.change { try $0.inbox.post(entry, to: side) } }
        try stage.change { try $0.inbox.post(.described(item), to: side) }
        #expect(try !isAnnounced())
        try stage.change { try $0.inbox.post(.newItem(item), to: side) }
        #expect(try isAnnounced())
        #expect(try stage.change { try $0.inbox.announces(FileID(999)) } == false)
    }

    @Test("unknown entry is damage, earlier ones are readable")
    func damaged() throws {
        try stage.change { tables in
            for entry in Self.entries.prefix(2) {
                try tables.inbox.post(entry, to: ChatSide(profile: stage.alice, chat: 1))
            }
        }
        try stage.execute("UPDATE news SET kind = 'unheard of' WHERE item = 2")
        let error = #expect(throws: StoreError.self) { try waiting(stage.alice) }
        #expect(error?.code == .damaged)
        #expect(try waiting(stage.alice, 1).map(\.entry) == [Self.entries[0]])
    }
}
