import ChatCore
import Posix
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite struct GroupTests {
    private let names = ["ann", "ben", "cleo", "dan", "eve"]

    @Test func everyMemberGetsItsOwnDescription() async throws {
        let world = try World(names)
        try world.directory.createGroup("Book club", members: names)
        var members: [EmbeddedCore] = []
        for name in names { members.append(try await world.open(name)) }
        let listeners = members.map(Listener.init)
        _ = try await members[2].send(
            try members[2].compose(pattern(300_000)), to: members[2].chat(named: "Book club"))
        for index in [0, 1, 3, 4] {
            try await listeners[index].waits(for: "rcvFileDescrReady")
            let item = try await members[index].newest(in: "Book club")
            #expect(item.sender == "cleo")
            try await members[index].receiveFile(try #require(item.file).id, approvedRelays: false)
            try await listeners[index].waits(for: "rcvFileComplete")
            #expect(try await members[index].newest(in: "Book club").content() == pattern(300_000))
        }
        #expect(world.relay.state.withLock { $0.recipients } == [4])
        let descriptions = try world.database().read {
            try $0.query("SELECT description FROM file WHERE description IS NOT NULL") {
                $0.text("description")
            }
        }
        #expect(Set(descriptions).count == 4)
        for member in members { await member.shutDown() }
    }

    @Test func sameFileNameFromFiveMembersIsKept() async throws {
        let world = try World(names)
        try world.directory.createGroup("Book club", members: names)
        var members: [EmbeddedCore] = []
        for name in names { members.append(try await world.open(name)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, member) in members.enumerated() {
                group.addTask {
                    let message = try member.compose(pattern(1000 + index), name: "same.txt")
                    _ = try await member.send(message, to: member.chat(named: "Book club"))
                }
            }
            try await group.waitForAll()
        }
        for member in members {
            let chat = try await member.chat(named: "Book club")
            try await wait(until: "five files have come") {
                let items = try await member.items(of: chat, before: nil, count: 10)
                return items.count == 5 && items.allSatisfy { $0.file?.status.isReadable == true }
            }
            let items = try await member.items(of: chat, before: nil, count: 10)
            #expect(Set(items.map(\.sender)) == Set(names))
            for item in items {
                let index = try #require(names.firstIndex(of: item.sender))
                #expect(try item.content() == pattern(1000 + index))
            }
        }
        for member in members { await member.shutDown() }
    }

    @Test func groupNeedsTwoExistingMembers() throws {
        let world = try World(["ann", "ben"])
        #expect(throws: ChatError.self) { try world.directory.createGroup("x", members: ["ann"]) }
        #expect(throws: ChatError.self) { try world.directory.createGroup("x", members: ["ann", "ann"]) }
        let error = #expect(throws: ChatError.self) {
            try world.directory.createGroup("x", members: ["ann", "zoe"])
        }
        #expect(error?.code == .noSuchProfile)
        try world.directory.createGroup("x", members: ["ann", "ben"])
    }

    @Test func openProfileHearsOfNewChats() async throws {
        let world = try World(["ann", "ben"])
        let ann = try await world.open("ann")
        let heard = Listener(ann)
        try world.directory.connect("ann", "ben")
        try await heard.waits(for: "chatUpdated")
        try world.directory.createGroup("x", members: ["ben", "ann"])
        try await heard.waits(for: "chatUpdated", times: 2)
        #expect(try await ann.chats().map(\.displayName) == ["Saved notes", "ben", "x"])
        await ann.shutDown()
    }
}
