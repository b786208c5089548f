import Agent
import Base
import ChatCore
import ChatProtocol
import SMP
import Store
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("People table")
struct PeopleTableTests {
    private let stage: StoreStage
    private static let now = StoreStage.now

    init() throws { stage = try StoreStage() }

    /// Inserts an introduced contact and returns its chat.
    @discardableResult
    private func meet(_ number: Int64, _ name: String, of profile: Int64? = nil) throws -> Int64 {
        try stage.change(of: profile) { tables in
            let id = ConnectionID(number)
            try tables.people.insert(id)
            let chat = try tables.chats.insertContact(name, of: profile ?? stage.alice, at: Self.now)
            try tables.people.keep(
                ContactConversation(profile: ContactProfile(displayName: name), versions: 1...8), of: id,
                chat: chat)
            return chat
        }
    }

    private func person(_ number: Int64, of profile: Int64? = nil) throws -> PeopleTable.Person? {
        try stage.change(of: profile) { try $0.people.person(ConnectionID(number)) }
    }

    @Test("unused link has no person")
    func unknown() throws {
        #expect(try person(1) == nil)
        #expect(try stage.change { try $0.people.hasConnections() } == false)
        for _ in 0..<2 { try stage.change { try $0.people.insert(ConnectionID(1)) } }
        let found = try #require(try person(1))
        #expect(found.connection == ConnectionID(1) && found.chat == nil && found.conversation == nil)
        #expect(!found.isConnected && !found.isEnded)
        #expect(try stage.count("connection") == 1)
        #expect(try stage.change { try $0.people.hasConnections() })
        #expect(try stage.change(of: stage.bob) { try $0.people.hasConnections() } == false)
        #expect(try person(1, of: stage.bob) == nil, "numbers are those of one profile's agent")
    }

    @Test("contact's profile round-trips")
    func conversation() throws {
        let chat = try meet(1, "ü\u{1F600} \"zoe\"\n")
        let found = try #require(try person(1)?.conversation)
        #expect(found.profile.displayName == "ü\u{1F600} \"zoe\"\n" && found.versions == 1...8)
        #expect(!found.hasEnded)
        #expect(try stage.change { try $0.people.connection(ofChat: chat) } == ConnectionID(1))
        #expect(try stage.change { try $0.people.connection(ofChat: chat + 1) } == nil)
        #expect(try stage.change(of: stage.bob) { try $0.people.connection(ofChat: chat) } == nil)
        #expect(
            try stage.change { try $0.people.contact(ofChat: chat) }?.displayName == found.profile.displayName
        )
        #expect(try stage.change { try $0.people.contact(ofChat: chat + 1) } == nil)
        try stage.change { try $0.chats.end(chat, .contactDeleted) }
        #expect(try person(1)?.conversation?.hasEnded == true)
    }

    @Test("damaged contact keeps its chat's name")
    func damaged() throws {
        try meet(1, "zoe")
        for introduction in ["x''", "x'ff'", "x'7b7d'", "x'7b226576656e74223a22782e696e666f227d'"] {
            try stage.execute("UPDATE connection SET introduction = \(introduction)")
            let found = try #require(try person(1))
            #expect(found.conversation?.profile.displayName == "zoe", "\(introduction)")
            #expect(found.chat != nil && !found.isEnded)
        }
        try stage.execute("UPDATE chat SET contact_name = NULL WHERE kind = 'direct'")
        #expect(try person(1)?.conversation?.profile.displayName == "")
    }

    @Test("left contact has no connection")
    func ended() throws {
        let chat = try meet(1, "zoe")
        try stage.change { tables in
            try tables.people.noteConnected(ConnectionID(1))
            try tables.people.end(ConnectionID(1))
        }
        let found = try #require(try person(1))
        #expect(found.isEnded && found.isConnected && found.chat == chat)
        #expect(try stage.change { try $0.people.connection(ofChat: chat) } == nil)
        #expect(try stage.change { try $0.network.has(chat) } == false)
        #expect(try stage.change { try $0.people.open() } == [])
    }

    @Test("open connections exclude deleted ones and addresses")
    func open() throws {
        try meet(3, "zoe")
        try meet(2, "yan")
        try meet(7, "bob", of: stage.bob)
        try stage.change { tables in
            for number: Int64 in [1, 4] { try tables.people.insert(ConnectionID(number)) }
            try tables.requests.insert(address: ConnectionID(4), link: "l", .ask)
            try tables.people.end(ConnectionID(2))
        }
        #expect(try stage.change { try $0.people.open() } == [1, 3].map { ConnectionID($0) })
        #expect(try stage.change(of: stage.bob) { try $0.people.open() } == [ConnectionID(7)])
    }

    @Test("failure is kept per profile")
    func failure() throws {
        try meet(1, "zoe")
        try stage.change(of: stage.bob) { try $0.people.insert(ConnectionID(1)) }
        #expect(try stage.change { try $0.people.failure(of: ConnectionID(1)) } == nil)
        try stage.change { try $0.people.setFailure("It was used.", of: ConnectionID(1)) }
        #expect(try stage.change { try $0.people.failure(of: ConnectionID(1)) } == "It was used.")
        #expect(try stage.change(of: stage.bob) { try $0.people.failure(of: ConnectionID(1)) } == nil)
        #expect(try stage.change { try $0.people.failure(of: ConnectionID(9)) } == nil)
    }

    /// Every combination of a row's columns.
    @Test("deleted connection keeps only reportable rows")
    func forgotten() throws {
        var number: Int64 = 0
        for isEnded in [false, true] {
            for hasChat in [false, true] {
                for hasFailed in [false, true] {
                    number += 1
                    let id = ConnectionID(number)
                    if hasChat {
                        try meet(number, "zoe")
                    } else {
                        try stage.change { try $0.people.insert(id) }
                    }
                    try stage.change { tables in
                        if isEnded { try tables.people.end(id) }
                        if hasFailed { try tables.people.setFailure("No.", of: id) }
                        try tables.people.forget(id)
                    }
                    let isKept = !isEnded && (hasFailed || hasChat)
                    #expect(try (person(number) != nil) == isKept, "\(isEnded) \(hasChat) \(hasFailed)")
                }
            }
        }
        try meet(1, "bob", of: stage.bob)
        try stage.change(of: stage.bob) { try $0.people.end(ConnectionID(1)) }
        try stage.change { try $0.people.forget(ConnectionID(1)) }
        #expect(try person(1, of: stage.bob) != nil, "another profile's")
    }

    @Test("agent events are counted per profile")
    func events() throws {
        #expect(try stage.change { try $0.people.lastEvent() } == 0)
        try stage.change { tables in
            try tables.people.setLastEvent(7)
            try tables.people.noteReceiptDue(7)
        }
        #expect(try stage.change { try $0.people.lastEvent() } == 7)
        #expect(try stage.change { try $0.people.isReceiptDue(7) && !$0.people.isReceiptDue(6) })
        try stage.change(of: stage.bob) { (tables) throws in
            #expect(try tables.people.lastEvent() == 0)
            #expect(try !tables.people.isReceiptDue(7))
        }
    }
}

@Suite("Messaging server table")
struct MessagingServerTableTests {
    private let stage: StoreStage
    private static let key = String(repeating: "A", count: 43)

    init() throws { stage = try StoreStage() }

    @Test("servers keep insertion order")
    func order() throws {
        let addresses = (1...5).map { "smp://\(Self.key)@host\($0)" }
        try stage.change { tables in
            try tables.directory.messagingServers.add([addresses[3], addresses[0]], to: stage.alice)
            try tables.directory.messagingServers.add(addresses, to: stage.alice)
            try tables.directory.messagingServers.add([addresses[4]], to: stage.bob)
        }
        let expected = [3, 0, 1, 2, 4].map { addresses[$0] }
        #expect(
            try stage.change { try $0.directory.messagingServers.configured(of: stage.alice) } == expected)
        let isRemoved = try stage.change { tables in
            try [addresses[0], addresses[0], "nowhere"].map {
                try tables.directory.messagingServers.remove($0, from: stage.alice)
            }
        }
        #expect(isRemoved == [true, false, false])
        #expect(
            try stage.change { try $0.directory.messagingServers.configured(of: stage.alice) }
                == expected.filter { $0 != addresses[0] })
        #expect(
            try stage.change { try $0.directory.messagingServers.configured(of: stage.bob) } == [addresses[4]]
        )
    }

    @Test("server is found with any password")
    func passwords() throws {
        let kept = "smp://\(Self.key):secret@host1"
        let plain = try #require(ServerAddress("smp://\(Self.key)@host1"))
        try stage.change { tables in
            try tables.directory.messagingServers.add(
                ["nonsense", kept, "smp://\(Self.key)@host2"], to: stage.alice)
        }
        func text(_ server: ServerAddress, of profile: Int64) throws -> String? {
            try stage.change { try $0.directory.messagingServers.text(of: server, in: profile) }
        }
        #expect(try text(plain, of: stage.alice) == kept)
        #expect(try text(plain, of: stage.bob) == nil)
        let other = try #require(ServerAddress("smp://\(Self.key)@host3"))
        #expect(try text(other, of: stage.alice) == nil)
        try stage.change { tables in
            try tables.directory.messagingServers.replace(
                kept, by: "smp://\(Self.key):other@host1", of: stage.alice)
            try tables.directory.messagingServers.replace(
                "smp://\(Self.key)@host2", by: "x", of: stage.bob)
        }
        #expect(
            try stage.change { try $0.directory.messagingServers.configured(of: stage.alice) } == [
                "nonsense", "smp://\(Self.key):other@host1", "smp://\(Self.key)@host2",
            ])
    }
}

/// Connections of two profiles, compared with a model.
@Suite("Connections against a model")
struct PeopleModelTests {
    private struct Model {
        var chat: Int64?
        var name: String?
        var isConnected = false
        var isEnded = false
        var failure: String?
    }

    @Test("random histories match the model", arguments: UInt64(1)...6)
    func history(seed: UInt64) throws {
        let stage = try StoreStage()
        var random = SeededGenerator(state: seed)
        var models: [Int64: [Int64: Model]] = [stage.alice: [:], stage.bob: [:]]
        for step in 0..<300 {
            let profile = [stage.alice, stage.bob].randomElement(using: &random)!
            let number = Int64.random(in: 1...6, using: &random)
            let id = ConnectionID(number)
            let deed = Int.random(in: 0..<7, using: &random)
            try stage.change(of: profile) { tables in
                var model = models[profile]![number]
                switch deed {
                case 0:
                    try tables.people.insert(id)
                    model = model ?? Model()
                case 1:
                    let name = "name \(step)"
                    let chat =
                        try model?.chat
                        ?? tables.chats.insertContact(
                            name, of: profile, at: StoreStage.now)
                    try tables.people.keep(
                        ContactConversation(profile: ContactProfile(displayName: name), versions: nil),
                        of: id, chat: chat)
                    model?.chat = chat
                    model?.name = name
                case 2:
                    try tables.people.end(id)
                    model?.isEnded = true
                case 3:
                    try tables.people.noteConnected(id)
                    model?.isConnected = true
                case 4 where step % 4 == 0:
                    try tables.people.setFailure("failure \(step)", of: id)
                    model?.failure = "failure \(step)"
                case 5:
                    if let chat = model?.chat {
                        try tables.chats.remove(chat)
                        model?.chat = nil
                        model?.isEnded = true
                    }
                default:
                    try tables.people.forget(id)
                    if let known = model, known.isEnded || (known.chat == nil && known.failure == nil) {
                        model = nil
                    }
                }
                models[profile]![number] = model
                try Self.compare(tables, models[profile]!, "\(step)")
            }
        }
        #expect(models.values.contains { $0.values.contains { $0.chat != nil && $0.isEnded } })
    }

    private static func compare(_ tables: ProfileTables, _ models: [Int64: Model], _ place: String) throws {
        for number: Int64 in 1...6 {
            let found = try tables.people.person(ConnectionID(number))
            let model = models[number]
            #expect((found == nil) == (model == nil), "\(place)")
            guard let found, let model else { continue }
            #expect(found.chat == model.chat && found.isEnded == model.isEnded, "\(place)")
            #expect(found.isConnected == model.isConnected, "\(place)")
            #expect(found.conversation?.profile.displayName == model.name, "\(place)")
            #expect(try tables.people.failure(of: found.connection) == model.failure, "\(place)")
            guard let chat = model.chat else { continue }
            let own = try tables.people.connection(ofChat: chat)
            #expect(own == (model.isEnded ? nil : found.connection), "\(place)")
        }
        let open = models.filter { !$0.value.isEnded }.keys.sorted()
        #expect(try tables.people.open().map(\.number) == open, "\(place)")
        #expect(try tables.people.hasConnections() == !models.isEmpty, "\(place)")
    }
}
