import Base
import Glibc
import Posix
import TestSupport
import Testing

@Suite(
    "Retry of a given-up upload", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct OfficialRetryTests {
    @Test("'chatfs retry' replaces the failed message")
    func full() async throws {
        let relays = try await OfficialRelays()
        let elsewhere = try TemporaryFolder()
        let small = try await OfficialRelay.files(in: elsewhere, quota: "1mb")
        let alice = try await OfficialPerson("alice", relays, fileRelay: small)
        let bob = try await OfficialPerson("bob", relays)
        try await OfficialStage.connect(alice, bob)
        for person in [alice, bob] { try await person.mount(.attached) }
        let digest = try await alice.copy(SystemRandomSource().bytes(3_000_000), as: "a.bin", to: "bob")
        try await alice.waitForState("failed", of: "a.bin", in: "bob")
        #expect(try alice.attribute("error", of: "a.bin", in: "bob")?.isEmpty == false)
        let client = try await alice.client()
        try await client.command("/xftp \(relays.files.address)")
        client.close()
        let outcome = try await ChatFSProcess.run(
            ["retry", alice.chats + "/bob/a.bin"], environment: ["HOME": alice.home])
        #expect(outcome.succeeded, "\(outcome.errors)")
        try await alice.waitForState("sent", of: "a.bin", in: "bob")
        #expect(try alice.names(in: "bob") == ["a.bin"])
        // Bob's core never showed the failed message with a readable file.
        try await wait(until: "bob sees one file", within: .seconds(60)) {
            try bob.names(in: "alice").count == 1
        }
        let name = try #require(try bob.names(in: "alice").first)
        #expect(try await bob.read(name, in: "alice") == digest)
        for person in [alice, bob] { #expect(try await person.leave() == .code(0)) }
        try await small.stop()
    }
}
