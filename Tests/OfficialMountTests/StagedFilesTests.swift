import Base
import Glibc
import Posix
import TestSupport
import Testing

/// The core keeps sent files encrypted in `outbox/message-…/NAME` of its files folder. It removes a file with
/// its message; ChatFS removes the folder.
@Suite(
    "Staged files of sent messages", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct StagedFilesTests {
    @Test("the mount's removal deletes file and chunks")
    func removed() async throws {
        let stage = try await OfficialStage.start("alice", "bob")
        let (alice, bob) = (stage.people[0], stage.people[1])
        try await alice.mount(.attached, ["--delete=everyone"])
        try await bob.mount(.attached)
        try await alice.copy(SystemRandomSource().bytes(300_000), as: "a.bin", to: "bob")
        try await alice.waitForState("sent", of: "a.bin", in: "bob")
        #expect(try alice.staged().count { $0.hasPrefix("message-") } == 1)
        try await bob.waitForFile("a.bin", in: "alice")
        let outcome = try await Shell.run("rm", [alice.chats + "/bob/a.bin"])
        #expect(outcome.succeeded, "\(outcome.errors)")
        try await waitUntilNothingIsStaged(alice)
        try await wait(until: "it is gone on the other side", within: .seconds(60)) {
            access(bob.chats + "/alice/a.bin", F_OK) != 0
        }
        try await waitUntilNoChunkIsLeft(stage)
        try await stage.leave()
    }

    @Test("the app's removal deletes the staged file")
    func removedElsewhere() async throws {
        let stage = try await OfficialStage.start("alice", "bob")
        let (alice, bob) = (stage.people[0], stage.people[1])
        for person in stage.people { try await person.mount(.attached) }
        for name in ["mounted.bin", "away.bin", "kept.bin"] {
            try await alice.copy(SystemRandomSource().bytes(300_000), as: name, to: "bob")
            try await alice.waitForState("sent", of: name, in: "bob")
        }
        try await remove("mounted.bin", of: alice)
        try await wait(until: "one folder is gone", within: .seconds(60)) {
            try alice.staged().count { $0.hasPrefix("message-") } == 2
        }
        let item = try attributeText("item-id", "away.bin", alice)
        #expect(try await alice.leave() == .code(0))
        try await remove(item: item, of: alice)
        try await alice.mount(.attached)
        try await wait(until: "the other folder is gone", within: .seconds(60)) {
            try alice.staged().count { $0.hasPrefix("message-") } == 1
        }
        try await wait(until: "one file is shown") { try alice.names(in: "bob") == ["kept.bin"] }
        // The recipient keeps a file that was not deleted for everyone.
        try await bob.waitForFile("kept.bin", in: "alice")
        try await stage.leave()
    }

    @Test("a cancelled upload leaves no chunk")
    func cancelled() async throws {
        let stage = try await OfficialStage.start("alice", "bob")
        let (alice, bob) = (stage.people[0], stage.people[1])
        for person in stage.people { try await person.mount(.attached) }
        try await alice.copy(SystemRandomSource().bytes(60_000_000), as: "big.bin", to: "bob")
        try await alice.waitForState("sending", of: "big.bin", in: "bob")
        try await bob.waitForFile("big.bin", in: "alice")
        let outcome = try await Shell.run("rm", [alice.chats + "/bob/big.bin"])
        #expect(outcome.succeeded, "\(outcome.errors)")
        try await bob.waitForState("cancelled", of: "big.bin", in: "alice")
        let read = try await Shell.run("cat", [bob.chats + "/alice/big.bin"])
        #expect(read.errors.contains("No data available"), "\(read.errors)")
        try await waitUntilNoChunkIsLeft(stage)
        try await stage.leave()
    }

    private func attributeText(_ name: String, _ file: String, _ person: OfficialPerson) throws -> String {
        guard let text = try person.attribute(name, of: file, in: "bob") else {
            throw WaitedInVain("\(file) has no \(name)")
        }
        return text
    }

    private func remove(_ file: String, of person: OfficialPerson) async throws {
        try await remove(item: attributeText("item-id", file, person), of: person)
    }

    private func remove(item: String, of person: OfficialPerson) async throws {
        let client = try await person.client()
        let contact = try await client.chat("contactId", named: "bob")
        try await client.command("/_delete item @\(contact) \(item) internal")
        client.close()
    }

    private func waitUntilNothingIsStaged(_ person: OfficialPerson) async throws {
        try await wait(until: "nothing is staged", within: .seconds(60)) {
            try person.staged().allSatisfy { !$0.hasPrefix("message-") }
        }
    }

    private func waitUntilNoChunkIsLeft(_ stage: OfficialStage) async throws {
        try await wait(until: "the relay has no chunk", within: .seconds(60)) {
            try stage.relays.folder.names(in: "xftp-files").isEmpty
        }
    }
}
