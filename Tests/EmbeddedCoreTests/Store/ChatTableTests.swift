import Agent
import Base
import ChatCore
import ChatProtocol
import Store
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Chat table")
struct ChatTableTests {
    private let stage: StoreStage
    private static let now = StoreStage.now

    init() throws { stage = try StoreStage() }

    private func connect() throws -> (own: ChatSide, other: ChatSide) {
        try stage.change { tables in
            (
                try #require(try tables.chats.connect(stage.alice, to: stage.bob, at: Self.now)),
                try #require(try tables.chats.connect(stage.bob, to: stage.alice, at: Self.now))
            )
        }
    }

    private func chat(_ id: Int64, of profile: Int64? = nil) throws -> Chat {
        try #require(try stage.change { try $0.chats.chat(id, of: profile ?? stage.alice) })
    }

    @Test("chat is found by profile and kind only")
    func numbers() throws {
        let (own, other) = try connect()
        #expect(try stage.change { try $0.chats.id(of: .direct(own.chat), of: stage.alice) } == own.chat)
        for (reference, profile) in [
            (ChatReference.direct(other.chat), stage.alice), (.direct(own.chat), stage.bob),
            (.group(own.chat), stage.alice), (.notes(own.chat), stage.alice), (.direct(999), stage.alice),
            (.links, stage.alice), (.direct(-1), stage.alice), (.direct(.max), stage.alice),
        ] {
            let error = #expect(throws: ChatError.self) {
                try stage.change { try $0.chats.id(of: reference, of: profile) }
            }
            #expect(error?.code == .noSuchChat, "\(reference)")
        }
        #expect(try stage.change { try $0.chats.chat(other.chat, of: stage.alice) } == nil)
    }

    @Test("alias precedes own name")
    func names() throws {
        let (own, _) = try connect()
        #expect(try chat(own.chat).displayName == "bob" && !chat(own.chat).isNamedByUser)
        try stage.change { try $0.directory.profiles.rename(stage.bob, to: "Bobby") }
        #expect(try chat(own.chat).displayName == "Bobby")
        try stage.change { try $0.chats.setAlias("My Bob", of: own.chat) }
        #expect(try chat(own.chat).displayName == "My Bob" && chat(own.chat).isNamedByUser)
        let notes = try stage.change { try $0.chats.all(of: stage.alice) }[0]
        #expect(notes.displayName == ChatTable.notesName && notes.reference.description.hasPrefix("*"))
        let zoe = try stage.change { try $0.chats.insertContact("zoe", of: stage.alice, at: Self.now) }
        #expect(try chat(zoe).displayName == "zoe")
        try stage.change { try $0.chats.renameContact("Zoë", of: zoe) }
        #expect(try chat(zoe).displayName == "Zoë")
    }

    @Test("leaving ends both sides, reconnecting resumes")
    func leaving() throws {
        let (own, other) = try connect()
        #expect(try stage.change { try $0.chats.recipients(of: own.chat) } == [other])
        #expect(try stage.change { try $0.chats.isConnected(stage.alice, to: stage.bob) })
        let changed = try stage.change { try $0.chats.leave(own.chat) }
        #expect(changed == [own, other])
        #expect(try chat(own.chat).sendingRefused == "You have left this chat.")
        #expect(
            try chat(other.chat, of: stage.bob).sendingRefused == "The contact has left this chat.")
        #expect(try stage.change { try $0.chats.recipients(of: own.chat) } == [])
        #expect(try stage.change { try $0.chats.isConnected(stage.bob, to: stage.alice) } == false)
        // Leaving again does not change the ended peer.
        #expect(try stage.change { try $0.chats.leave(other.chat) } == [other])
        #expect(
            try chat(other.chat, of: stage.bob).sendingRefused == "The contact has left this chat.",
            "who was first is who left")
        let again = try connect()
        #expect(again.own == own && again.other == other)
        #expect(
            try chat(own.chat).sendingRefused == nil && chat(other.chat, of: stage.bob).sendingRefused == nil)
    }

    @Test("last member's leaving deletes a group")
    func groups() throws {
        let carol = try stage.change { try $0.directory.profiles.insert("carol", at: Self.now).id }
        let profiles = [stage.alice, stage.bob, carol]
        let (group, sides) = try stage.change { tables in
            let group = try tables.chats.insertGroup("club", at: Self.now)
            return (
                group,
                try profiles.map {
                    try tables.chats.addMember(
                        $0, as: $0 == stage.alice ? .owner : .member, to: group, at: Self.now)
                }
            )
        }
        #expect(try stage.change { try $0.chats.recipients(of: sides[0].chat) } == [sides[1], sides[2]])
        let changed = try stage.change { try $0.chats.leave(sides[1].chat) }
        #expect(changed == [sides[1]], "the others' side is as it was")
        #expect(try stage.change { try $0.chats.recipients(of: sides[0].chat) } == [sides[2]])
        #expect(try stage.change { try $0.chats.recipients(of: sides[1].chat) } == [])
        #expect(try stage.count("member", "chat_group = \(group)") == 2)
        for (place, side) in sides.enumerated() {
            try stage.change { tables in
                _ = try tables.chats.leave(side.chat)
                try tables.chats.remove(side.chat)
            }
            #expect(try stage.count("chat_group") == (place == 2 ? 0 : 1))
        }
        #expect(try stage.count("member") == 0)
    }

    @Test("deleted profile's chats keep its name")
    func forgotten() throws {
        let (own, _) = try connect()
        #expect(try stage.change { try $0.chats.sides(ofContact: stage.bob) } == [own])
        try stage.change { tables in
            try tables.chats.forgetContact(stage.bob)
            try tables.directory.profiles.remove(stage.bob)
        }
        #expect(try chat(own.chat).displayName == "bob")
        #expect(try chat(own.chat).sendingRefused == StoredChatEnding.contactDeleted.sentence)
        // An alias is kept.
        let carol = try stage.change { try $0.directory.profiles.insert("carol", at: Self.now).id }
        let side = try stage.change {
            try #require(try $0.chats.connect(stage.alice, to: carol, at: Self.now))
        }
        try stage.change { tables in
            try tables.chats.setAlias("C", of: side.chat)
            try tables.chats.forgetContact(carol)
        }
        #expect(try chat(side.chat).displayName == "C")
    }

    /// Every ending with every refusal, in both kinds of chats.
    @Test("first ending precedes refusals")
    func refusals() throws {
        for kind in [StoredChatKind.direct, .group] {
            for ending in [nil] + StoredChatEnding.allCases.map(Optional.some) {
                for refusal in [nil] + StoredChatRefusal.allCases.map(Optional.some) {
                    let id = try stage.change { tables in
                        let id =
                            kind == .group
                            ? try tables.chats.insertGroup(named: "x", of: stage.alice, at: Self.now)
                            : try tables.chats.insertContact("x", of: stage.alice, at: Self.now)
                        #expect(try tables.chats.setRefusal(refusal, of: id) == (refusal != nil))
                        #expect(try !tables.chats.setRefusal(refusal, of: id), "that was known")
                        if let ending {
                            try tables.chats.end(id, ending)
                            try tables.chats.end(id, .groupDeleted)
                        }
                        return id
                    }
                    let found = try chat(id)
                    #expect(found.sendingRefused == ending?.sentence ?? refusal?.sentence(in: kind))
                    #expect(try stage.change { try $0.chats.isOpen(id) } == (ending == nil))
                }
            }
        }
    }

    @Test("failed connection's reason shows in its chat")
    func failures() throws {
        let zoe = try stage.change { tables in
            try tables.people.insert(ConnectionID(1))
            let chat = try tables.chats.insertContact("zoe", of: stage.alice, at: Self.now)
            try tables.people.keep(
                ContactConversation(profile: ContactProfile(displayName: "zoe"), versions: nil),
                of: ConnectionID(1), chat: chat)
            try tables.chats.end(chat, .notConnected)
            return chat
        }
        #expect(try chat(zoe).sendingRefused == StoredChatEnding.notConnected.sentence)
        try stage.change { try $0.people.setFailure("The link was used.", of: ConnectionID(1)) }
        #expect(try chat(zoe).sendingRefused == "The link was used.")
        try stage.execute("UPDATE chat SET ended = 'left' WHERE id = \(zoe)")
        #expect(try chat(zoe).sendingRefused == StoredChatEnding.left.sentence)
    }

    @Test("problems show while the chat is open")
    func problems() throws {
        let zoe = try stage.change { try $0.chats.insertContact("zoe", of: stage.alice, at: Self.now) }
        #expect(try chat(zoe).sendingProblem == nil && chat(zoe).receivingProblem == nil)
        for keys in StoredKeys.allCases {
            try stage.change { try $0.chats.setKeys(keys, of: zoe) }
            #expect(try stage.change { try $0.chats.keys(of: zoe) } == keys)
            #expect(try chat(zoe).sendingProblem?.contains("contact renew") == true)
        }
        let isNews = try stage.change { tables in
            try [true, true, false, false, true].map { try tables.chats.setTakenOver($0, of: zoe) }
        }
        #expect(isNews == [true, false, true, false, true])
        #expect(try chat(zoe).receivingProblem?.hasPrefix("No longer receiving") == true)
        try stage.change { try $0.chats.end(zoe, .left) }
        #expect(try chat(zoe).sendingProblem == nil && chat(zoe).receivingProblem == nil)
        #expect(try stage.change { try $0.chats.keys(of: 999) } == nil)
        try stage.execute("PRAGMA ignore_check_constraints = 1")
        try stage.execute("UPDATE chat SET refused = 'of a later version', ended = NULL WHERE id = \(zoe)")
        let error = #expect(throws: StoreError.self) { try chat(zoe) }
        #expect(error?.code == .damaged)
    }

    @Test("retention is shared by local sides")
    func timeToLive() throws {
        let (own, other) = try connect()
        for seconds: Int64? in [60, nil, .max] {
            let changed = try stage.change { try $0.chats.setTimeToLive(seconds, in: own) }
            #expect(changed == [own, other])
            for side in [own, other] {
                #expect(try stage.change { try $0.chats.timeToLive(of: side.chat) } == seconds)
            }
        }
        _ = try stage.change { try $0.chats.leave(own.chat) }
        #expect(try stage.change { try $0.chats.setTimeToLive(5, in: own) } == [own])
        #expect(try stage.change { try $0.chats.timeToLive(of: other.chat) } == .max)
        #expect(try stage.change { try $0.chats.timeToLive(of: 999) } == nil)
    }

    @Test("newest message sets the chat's time")
    func updated() throws {
        let (own, other) = try connect()
        let later = Self.now.advanced(by: .seconds(9))
        try stage.change { try $0.chats.noteMessage(in: own.chat, at: later) }
        #expect(try chat(own.chat).updatedAt == later)
        #expect(try chat(other.chat, of: stage.bob).updatedAt == Self.now)
    }
}
