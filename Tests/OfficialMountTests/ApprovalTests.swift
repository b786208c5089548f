import Base
import Glibc
import Posix
import TestSupport
import Testing

@Suite(
    "Approval of unconfigured relays at the official core", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct OfficialApprovalTests {
    @Test("a read fails until its relay is approved")
    func approval() async throws {
        let relays = try await OfficialRelays()
        let elsewhere = try TemporaryFolder()
        let own = try await OfficialRelay.files(in: elsewhere)
        let alice = try await OfficialPerson("alice", relays, fileRelay: own)
        let bob = try await OfficialPerson("bob", relays)
        try await OfficialStage.connect(alice, bob)
        try await alice.mount(.attached)
        try await bob.mount(.attached)
        let digest = try await alice.copy(SystemRandomSource().bytes(600_000), as: "a.bin", to: "bob")
        try await alice.waitForState("sent", of: "a.bin", in: "bob")
        try await bob.waitForFile("a.bin", in: "alice")
        let refused = try await Shell.run("cat", [bob.chats + "/alice/a.bin"])
        #expect(refused.errors.contains("Permission denied"), "\(refused.errors)")
        let sentence = try bob.attribute("error", of: "a.bin", in: "alice")
        #expect(sentence?.contains(own.address) == true, "\(sentence ?? "")")
        _ = try await bob.chatfs(["approve", own.address])
        // A refusal lasts two seconds, because the kernel repeats a read page by page.
        let read = try await wait(for: "a reader that is let through") {
            try? await bob.read("a.bin", in: "alice")
        }
        #expect(read == digest)
        for person in [alice, bob] { #expect(try await person.leave() == .code(0)) }
        try await own.stop()
    }
}
