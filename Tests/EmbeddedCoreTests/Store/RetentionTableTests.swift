import Agent
import Base
import ChatCore
import ChatProtocol
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Retention table")
struct RetentionTableTests {
    private let stage: StoreStage
    private static let now = StoreStage.now

    init() throws { stage = try StoreStage() }

    /// A network chat whose contact allows `allowed`.
    private func contact(_ allowed: Preferences.Allowed?, ttl: Int? = nil) throws -> Int64 {
        var profile = ContactProfile(displayName: "zoe")
        profile.preferences[.timedMessages] = allowed
        profile.preferences.timeToLive = ttl
        return try stage.change { tables in
            let id = ConnectionID(5)
            try tables.people.insert(id)
            let chat = try tables.chats.insertContact("zoe", of: stage.alice, at: Self.now)
            try tables.people.keep(
                ContactConversation(profile: profile, versions: nil), of: id, chat: chat)
            return chat
        }
    }

    private func group(isOn: Bool?, ttl: Int?) throws -> Int64 {
        let chat = try stage.group(1)
        var profile = GroupProfile(displayName: "club")
        profile.preferences[.timedMessages] = isOn.map { GroupPreferences.Setting(isOn: $0) }
        profile.preferences.timeToLive = ttl
        let kept = GroupConversation(
            own: MemberReference(id: StoreStage.member(1), role: .member), host: StoreStage.member(2),
            profile: profile)
        try stage.change { try $0.groups.keep(kept, of: chat) }
        return chat
    }

    private func own(of chat: Int64) throws -> Int64? {
        try stage.change { try $0.chats.timeToLive(of: chat) }
    }

    private func ttl(of chat: Int64) throws -> Int64? {
        try stage.change { try $0.retention.timeToLive(of: chat) }
    }

    private func end(_ seconds: Int?, in chat: Int64) throws -> Timestamp? {
        try stage.change { try $0.retention.end(ofReceived: seconds, in: chat, at: Self.now) }
    }

    /// Returns waiting introductions, decoded.
    private func introductions() throws -> [(connection: Int64, profile: ContactProfile)] {
        var found: [(connection: Int64, profile: ContactProfile)] = []
        while let next = try stage.change({ try $0.outgoing.first() }) {
            try stage.change { try $0.outgoing.remove(next.number) }
            for element in try ChatBody.read(next.body, compression: Zstandard.installed) {
                if case .message(let message) = element, case .information(let profile) = message.event {
                    found.append((next.connection.number, profile))
                }
            }
        }
        return found
    }

    @Test("either local side sets the time silently")
    func here() throws {
        let (own, other) = try stage.change { tables in
            let chats = tables.chats
            return (
                try #require(try chats.connect(stage.alice, to: stage.bob, at: Self.now)),
                try #require(try chats.connect(stage.bob, to: stage.alice, at: Self.now))
            )
        }
        let sides = try stage.change { try $0.retention.set(60, in: own.chat, as: "alice") }
        #expect(Set(sides) == [own, other])
        #expect(try ttl(of: own.chat) == 60 && ttl(of: other.chat) == 60)
        #expect(try end(7, in: own.chat) == Self.now.advanced(by: .seconds(7)))
        #expect(try end(nil, in: own.chat) == nil)
        _ = try stage.change(of: stage.bob) { try $0.retention.set(nil, in: other.chat, as: "bob") }
        #expect(try ttl(of: own.chat) == nil && ttl(of: other.chat) == nil)
        #expect(try introductions().isEmpty)
    }

    @Test(
        "network chats need both sides' permission",
        arguments: [Preferences.Allowed.always, .yes, nil])
    func allowed(allowed: Preferences.Allowed?) throws {
        let chat = try contact(allowed)
        #expect(try ttl(of: chat) == nil)
        let sides = try stage.change { try $0.retention.set(3600, in: chat, as: "alice") }
        #expect(sides == [ChatSide(profile: stage.alice, chat: chat)])
        #expect(try ttl(of: chat) == 3600)
        let told = try introductions()
        #expect(told.map(\.connection) == [5] && told[0].profile.displayName == "alice")
        #expect(told[0].profile.preferences[.timedMessages] == .yes)
        #expect(told[0].profile.preferences.timeToLive == 3600)
        // The contact's earlier wish no longer counts.
        let kept = try #require(try stage.change { try $0.people.contact(ofChat: chat) })
        #expect(kept.preferences.timeToLive == 3600 && kept.preferences[.timedMessages] == allowed ?? .yes)
        #expect(try end(7, in: chat) == Self.now.advanced(by: .seconds(7)))
        _ = try stage.change { try $0.retention.set(nil, in: chat, as: "alice") }
        #expect(try ttl(of: chat) == nil)
        #expect(try introductions().map { $0.profile.preferences.timeToLive } == [nil])
    }

    @Test("forbidding contact is named and ignored")
    func refused() throws {
        let chat = try contact(.no, ttl: 30)
        let error = #expect(throws: ChatError.self) {
            try stage.change { try $0.retention.set(60, in: chat, as: "alice") }
        }
        #expect(error?.code == .invalidCommand && error?.sentence.hasPrefix("zoe does not allow") == true)
        #expect(try own(of: chat) == nil && introductions().isEmpty)
        // Set before the contact forbade it; no longer valid.
        try stage.execute("UPDATE chat SET ttl = 60 WHERE id = \(chat)")
        #expect(try ttl(of: chat) == nil && end(7, in: chat) == nil)
        // Turning it off is always possible.
        _ = try stage.change { try $0.retention.set(nil, in: chat, as: "alice") }
        #expect(try own(of: chat) == nil && introductions().count == 1)
    }

    @Test("owners set a group's time")
    func groups() throws {
        let chat = try group(isOn: true, ttl: 86_400)
        #expect(try ttl(of: chat) == 86_400)
        #expect(try end(7, in: chat) == Self.now.advanced(by: .seconds(7)))
        for seconds: Int64? in [60, nil] {
            let error = #expect(throws: ChatError.self) {
                try stage.change { try $0.retention.set(seconds, in: chat, as: "alice") }
            }
            #expect(error?.code == .invalidCommand && error?.sentence.contains("owners") == true)
        }
        #expect(try own(of: chat) == nil && introductions().isEmpty)
    }

    @Test("group without expiry ignores times", arguments: [false, nil] as [Bool?])
    func groupsWithout(isOn: Bool?) throws {
        let chat = try group(isOn: isOn, ttl: 60)
        #expect(try ttl(of: chat) == nil && end(7, in: chat) == nil)
    }

    @Test("latest setting wins and changes are reported")
    func followed() throws {
        let chat = try contact(nil)
        func follow(_ ttl: Int?, _ allowed: Preferences.Allowed? = .yes) throws -> Bool {
            var profile = ContactProfile(displayName: "zoe")
            profile.preferences[.timedMessages] = allowed
            profile.preferences.timeToLive = ttl
            let told = profile
            return try stage.change { tables in
                let isSame = try tables.retention.follow(told, in: chat)
                try tables.people.keep(
                    ContactConversation(profile: told, versions: nil), of: ConnectionID(5), chat: chat)
                return isSame
            }
        }
        #expect(try follow(nil))
        #expect(try !follow(60) && ttl(of: chat) == 60)
        #expect(try follow(60))
        #expect(try !follow(30) && ttl(of: chat) == 30)
        // Forbidden: messages stay regardless of the number.
        #expect(try !follow(30, .no) && ttl(of: chat) == nil)
        #expect(try follow(nil, .no))
        #expect(try follow(nil) && ttl(of: chat) == nil)
    }

    @Test("introduction carries the chat's own time")
    func introduced() throws {
        let chat = try contact(.yes)
        try stage.change { try $0.people.insert(ConnectionID(6)) }
        _ = try stage.change { try $0.retention.set(90, in: chat, as: "alice") }
        _ = try introductions()
        try stage.change { try $0.network.introduce(as: "Alice B.") }
        let told = try introductions()
        #expect(told.map(\.connection) == [5, 6])
        #expect(told.allSatisfy { $0.profile.displayName == "Alice B." })
        #expect(told.map { $0.profile.preferences.timeToLive } == [90, nil])
    }
}
