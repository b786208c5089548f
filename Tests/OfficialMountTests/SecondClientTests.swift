import Base
import Glibc
import Posix
import TestSupport
import Testing

/// The core sends each event to one of its clients only, so ChatFS misses the events that another client
/// takes.
@Suite(
    "Second client of an official core", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct SecondClientTests {
    @Test("files appear and are sent without events")
    func events() async throws {
        let stage = try await OfficialStage.start("alice", "bob")
        let (alice, bob) = (stage.people[0], stage.people[1])
        // The core serves its clients in the order of their connections, and these are earlier than ChatFS.
        let others = [try await alice.client(), try await bob.client()]
        try await alice.mount(.attached)
        try await bob.mount(.attached, ["--delete=everyone"])
        let digest = try await alice.copy(SystemRandomSource().bytes(1_500_000), as: "seen.bin", to: "bob")
        try await alice.waitForState("sent", of: "seen.bin", in: "bob")
        try await bob.waitForFile("seen.bin", in: "alice")
        #expect(try await bob.read("seen.bin", in: "alice") == digest)
        try await bob.waitForState("stored", "hydrated", of: "seen.bin", in: "alice")
        try await bob.copy([1, 2, 3], as: "taken back.txt", to: "alice")
        try await alice.waitForFile("taken back.txt", in: "bob")
        try await bob.waitForState("sent", of: "taken back.txt", in: "alice")
        let removed = try await Shell.run("rm", [bob.chats + "/alice/taken back.txt"])
        #expect(removed.succeeded, "\(removed.errors)")
        try await wait(until: "it is gone on the other side", within: .seconds(60)) {
            access(alice.chats + "/bob/taken back.txt", F_OK) != 0
        }
        // The clients did take events that ChatFS needs.
        #expect(others.contains { $0.count(of: "newChatItems") > 0 })
        for client in others { client.close() }
        try await stage.leave()
    }

    @Test("the other client's messages and deletions are shown")
    func deeds() async throws {
        let stage = try await OfficialStage.start("alice", "bob")
        let (alice, bob) = (stage.people[0], stage.people[1])
        let app = try await alice.client()
        for person in stage.people { try await person.mount(.attached) }
        let path = try stage.relays.folder.write(
            SystemRandomSource().bytes(70_000), to: "alice/source/app.bin")
        let contact = try await app.chat("contactId", named: "bob")
        let sent = try await app.command(
            #"/_send @\#(contact) json [{"fileSource":{"filePath":"\#(path)"},"#
                + #""msgContent":{"type":"file","text":""},"mentions":{}}]"#)
        // Only the answer announces a sent message; the mount finds it in the history.
        try await alice.waitForFile("app.bin", in: "bob")
        try await bob.waitForFile("app.bin", in: "alice")
        let digest = try await Shell.script("sha256sum < '\(path)'").output.prefix(64)
        #expect(try await bob.read("app.bin", in: "alice") == digest)
        #expect(try await alice.read("app.bin", in: "bob") == digest)
        let item = try OfficialClient.number("itemId", in: sent)
        try await app.command("/_delete item @\(contact) \(item) internal")
        try await wait(until: "it is gone", within: .seconds(60)) {
            access(alice.chats + "/bob/app.bin", F_OK) != 0
        }
        #expect(access(bob.chats + "/alice/app.bin", F_OK) == 0)
        // A core with a files folder deletes sent files wherever they are, so this must not be the only copy.
        #expect(access(path, F_OK) != 0)
        app.close()
        try await stage.leave()
    }
}
