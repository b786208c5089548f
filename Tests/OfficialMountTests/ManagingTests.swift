import Base
import Glibc
import Posix
import TestSupport
import Testing

@Suite(
    "Chats of the official core by command", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct ManagingTests {
    /// The chats without the two default contacts and the notes of a new profile.
    private func chats(of person: OfficialPerson) throws -> [String] { own(try person.folders()) }

    private func own(_ names: [String]) -> [String] {
        names.filter {
            ![".chatfs", "Links", "Saved notes", "Ask SimpleX Team", "SimpleX Status"].contains($0)
        }
        .sorted()
    }

    private func listed(
        _ kind: String, by person: OfficialPerson, _ way: OfficialPerson.Way = .attached
    ) async throws -> [String] {
        own(try await person.chatfs([kind, "list"], way).split(separator: "\n").map(String.init))
    }

    private func waitForChats(_ names: [String], of person: OfficialPerson) async throws {
        try await wait(until: "\(person.name) has \(names)") { try chats(of: person) == names }
    }

    private func waitForRefusal(in chat: String, of person: OfficialPerson) async throws {
        var count = 0
        try await wait(until: "nothing can be written into \(chat) of \(person.name)") {
            // An accepted copy becomes an entry, and a second write to it fails with another error.
            count += 1
            let copy = try await Shell.run("cp", ["/etc/hostname", person.chats + "/\(chat)/late \(count)"])
            return copy.errors.contains("Permission denied")
        }
    }

    @Test("folders follow renames, leaves and deletions")
    func contacts() async throws {
        let stage = try await OfficialStage.start("alice", "bob")
        let (alice, bob) = (stage.people[0], stage.people[1])
        for person in stage.people { try await person.mount(.attached) }
        let digest = try await alice.copy([UInt8](repeating: 3, count: 5000), as: "a.bin", to: "bob")
        try await bob.waitForFile("a.bin", in: "alice")
        #expect(try await bob.read("a.bin", in: "alice") == digest)
        #expect(try await listed("contact", by: bob) == ["alice"])
        _ = try await bob.chatfs(["contact", "rename", "alice", "Alice from work"])
        try await waitForChats(["Alice from work"], of: bob)
        #expect(try await bob.read("a.bin", in: "Alice from work") == digest)
        try await bob.copy([1, 2], as: "b.bin", to: "Alice from work")
        try await alice.waitForFile("b.bin", in: "bob")

        _ = try await bob.chatfs(["contact", "leave", "Alice from work"])
        try await waitForRefusal(in: "Alice from work", of: bob)
        try await waitForRefusal(in: "bob", of: alice)
        #expect(try await bob.read("a.bin", in: "Alice from work") == digest)
        _ = try await bob.chatfs(["contact", "delete", "Alice from work", "--yes"])
        try await waitForChats([], of: bob)
        #expect(try await alice.read("a.bin", in: "bob") == digest)
        _ = try await alice.chatfs(["contact", "delete", "bob", "--yes"])
        try await waitForChats([], of: alice)
        try await stage.leave()
    }

    @Test("members see leaves and deletions of a group")
    func groups() async throws {
        let stage = try await OfficialStage.start("alice", "bob", "carol", "dave")
        try await stage.makeGroup("team")
        let (alice, bob) = (stage.people[0], stage.people[1])
        let (carol, dave) = (stage.people[2], stage.people[3])
        for person in stage.people { try await person.mount(.attached) }
        let digest = try await alice.copy([UInt8](repeating: 3, count: 5000), as: "a.bin", to: "team")
        for person in [bob, carol, dave] { try await person.waitForFile("a.bin", in: "team") }
        #expect(try await bob.read("a.bin", in: "team") == digest)
        _ = try await bob.chatfs(["group", "rename", "team", "Work"])
        try await waitForChats(["Work", "alice"], of: bob)
        #expect(try await listed("group", by: bob) == ["Work"])

        // A member keeps the group until it deletes the group.
        _ = try await bob.chatfs(["group", "leave", "Work"])
        try await waitForRefusal(in: "Work", of: bob)
        try await waitForMember("bob", toBe: "left", of: "team", of: alice)
        #expect(try await bob.read("a.bin", in: "Work") == digest)
        _ = try await bob.chatfs(["group", "delete", "Work", "--yes"])
        try await waitForChats(["alice"], of: bob)
        // The owner deletes the group for its own profile only.
        _ = try await alice.chatfs(["group", "delete", "team", "--yes"])
        try await waitForChats(["bob", "carol", "dave"], of: alice)
        try await waitForMember("alice", toBe: "left", of: "team", of: carol)
        try await carol.copy([1, 2, 3], as: "goes on.bin", to: "team")
        try await dave.waitForFile("goes on.bin", in: "team")
        try await stage.leave()
    }

    /// Waits for the membership that the core of `person` shows.
    private func waitForMember(
        _ name: String, toBe status: String, of group: String, of person: OfficialPerson
    ) async throws {
        let client = try await person.client()
        let number = try await client.chat("groupId", named: group)
        try await wait(until: "\(name) is \(status) to \(person.name)") {
            let members = try await client.command("/_members #\(number)")
            return members.split(separator: "\"groupMemberId\":").contains {
                $0.contains("\"localDisplayName\":\"\(name)\"")
                    && $0.contains("\"memberStatus\":\"\(status)\"")
            }
        }
        client.close()
    }

    @Test(
        "an unmounted command starts and ends the core",
        arguments: OfficialPrograms.lackLibrary ? [OfficialPerson.Way.program] : [.program, .library])
    func unmounted(_ way: OfficialPerson.Way) async throws {
        let stage = try await OfficialStage.start("alice", "bob")
        try await stage.makeGroup("team")
        let (alice, bob) = (stage.people[0], stage.people[1])
        try await alice.mount(.attached)
        try await bob.stopProgram()
        #expect(try await listed("contact", by: bob, way) == ["alice"])
        #expect(try await listed("group", by: bob, way) == ["team"])
        _ = try await bob.chatfs(["group", "rename", "team", "Work"], way)
        _ = try await bob.chatfs(["contact", "rename", "alice", "Alice 🦊"], way)
        #expect(try await listed("contact", by: bob, way) == ["Alice 🦊"])
        _ = try await bob.chatfs(["group", "leave", "Work"], way)
        try await waitForMember("bob", toBe: "left", of: "team", of: alice)
        _ = try await bob.chatfs(["contact", "delete", "Alice 🦊", "--yes"], way)
        try await waitForRefusal(in: "bob", of: alice)
        let left = try await listed("contact", by: bob, way)
        #expect(left == [])
        try await bob.startProgram()
        _ = try await alice.leave()
        for person in stage.people { try await person.stopProgram() }
        try await stage.relays.stop()
    }
}
