import Glibc
import TestSupport
import Testing

@Suite(
    "ChatFS's message relay with official clients",
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct OurMessageRelayTests {
    private static func start(in folder: TemporaryFolder) async throws -> (RunningProcess, String) {
        let process = try await ChatFSProcess.start(["relay", "--dir", folder.path("ours")])
        let address = try await wait(for: "the address for messages") {
            process.lines.first { $0.hasPrefix("smp://") }
        }
        return (process, address)
    }

    @Test("two clients exchange messages across a relay kill")
    func texting() async throws {
        let relays = try await OfficialRelays()
        let (first, server) = try await Self.start(in: relays.folder)
        let alice = try await OfficialPerson("alice", relays, messageServer: server)
        let bob = try await OfficialPerson("bob", relays, messageServer: server)
        // The official server's port is closed, so no message can use it.
        try await relays.messages.stop()
        try await OfficialStage.connect(alice, bob)
        let (atAlice, atBob) = (try await alice.client(), try await bob.client())
        for number in 0..<3 {
            try await atAlice.command("@bob there \(number)")
            try await atBob.event("newChatItems", with: "there \(number)")
            try await atBob.command("@alice back \(number)")
            try await atAlice.event("newChatItems", with: "back \(number)")
        }
        first.send(SIGKILL)
        _ = try await first.ending()
        try await atAlice.command("@bob meanwhile")
        let (second, again) = try await Self.start(in: relays.folder)
        #expect(again == server)
        try await atBob.event("newChatItems", with: "meanwhile")
        try await atBob.command("@alice understood")
        try await atAlice.event("newChatItems", with: "understood")
        atAlice.close()
        atBob.close()
        try await alice.stopProgram()
        try await bob.stopProgram()
        try await relays.files.stop()
        try await second.terminate()
    }
}
