import Base
import Posix
import TestSupport
import Testing

@Suite(
    "Groups of the official core behind mounts", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct GroupTests {
    @Test("each member reads a group's file")
    func members() async throws {
        let stage = try await OfficialStage.start("alice", "bob", "carol")
        try await stage.makeGroup("team")
        for person in stage.people { try await person.mount(.attached) }
        for sender in stage.people {
            let name = "from \(sender.name).bin"
            let digest = try await sender.copy(SystemRandomSource().bytes(1_200_000), as: name, to: "team")
            for receiver in stage.people where receiver.name != sender.name {
                try await receiver.waitForFile(name, in: "team")
                #expect(try await receiver.read(name, in: "team") == digest, "\(receiver.name): \(name)")
                #expect(try receiver.attribute("sender", of: name, in: "team") == sender.name)
            }
            try await sender.waitForState("sent", of: name, in: "team")
        }
        try await stage.leave()
    }

    @Test("only the moderators' folder shows a support message")
    func support() async throws {
        let stage = try await OfficialStage.start("alice", "bob", "carol")
        try await stage.makeGroup("team")
        let (alice, bob, carol) = (stage.people[0], stage.people[1], stage.people[2])
        for person in stage.people { try await person.mount(.attached) }
        // ChatFS cannot send to the moderators, so the test uses the program's command.
        let bytes = SystemRandomSource().bytes(400_000)
        let path = try stage.relays.folder.write(bytes, to: "bob/source/complaint.bin")
        let client = try await bob.client()
        let group = try await client.chat("groupId", named: "team")
        try await client.command(
            #"/_send #\#(group)(_support) json [{"fileSource":{"filePath":"\#(path)"},"#
                + #""msgContent":{"type":"file","text":""},"mentions":{}}]"#)
        client.close()
        let digest = try await Shell.script("sha256sum < '\(path)'").output.prefix(64)
        let marked = "complaint (moderators).bin"
        try await alice.waitForFile(marked, in: "team")
        #expect(try await alice.read(marked, in: "team") == digest)
        try await bob.waitForFile(marked, in: "team")
        // Messages arrive in order: a later one shows that the earlier one did not appear.
        try await bob.copy([1, 2, 3], as: "for all.bin", to: "team")
        try await carol.waitForFile("for all.bin", in: "team")
        #expect(try !carol.names(in: "team").contains { $0.hasPrefix("complaint") })
        try await stage.leave()
    }

    @Test("a group without member files refuses a copy")
    func refused() async throws {
        let stage = try await OfficialStage.start("alice", "bob")
        try await stage.makeGroup("team")
        let (alice, bob) = (stage.people[0], stage.people[1])
        let client = try await alice.client()
        try await client.command("/set files #team off")
        client.close()
        for person in stage.people { try await person.mount(.attached) }
        let refusal = try await wait(for: "the refusal") {
            let made = try await Shell.script(
                #"printf 1 2>&1 > "$FOLDER/a.bin""#, environment: ["FOLDER": bob.chats + "/team"])
            return made.succeeded ? nil : made.output + made.errors
        }
        #expect(refusal.contains("Permission denied"))
        #expect(try alice.names(in: "team").isEmpty)
        try await stage.leave()
    }
}
