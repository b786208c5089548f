import Base
import Glibc
import Posix
import TestSupport
import Testing

@Suite(
    "ChatFS's own core and the official program exchange files", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct OwnCoreExchangeTests {
    /// Olga at the official program, and a mount of ours that knows her as `olga`.
    private struct Pair {
        let relays: OfficialRelays
        let olga: OfficialPerson
        let client: OfficialClient
        let contact: Int64
        let mount: RunningProcess
        var chat: String { relays.folder.path("Chats/olga") }

        static func start() async throws -> Pair {
            let relays = try await OfficialRelays()
            let olga = try await OfficialPerson("olga", relays)
            let client = try await olga.client()
            let invitation = try await client.command("/connect")
            guard let link = invitation.firstMatch(of: /"connShortLink":"([^"]+)"/)?.1 else {
                throw WaitedInVain("no invitation in \(invitation)")
            }
            let data = ["--data", relays.folder.path("data")]
            let accepted = try await ChatFSProcess.run(
                [
                    "accept", String(link), "--profile", "reader", "--server", relays.messages.address,
                    "--relay", relays.files.address,
                ] + data)
            guard accepted.succeeded else { throw WaitedInVain("accept: \(accepted.errors)") }
            let contact = try await client.chat("contactId", named: "reader")
            let chats = try relays.folder.makeFolder("Chats")
            let mount = try await ChatFSProcess.start(
                ["mount", chats, "--cache-dir", relays.folder.path("cache")] + data)
            try await wait(until: "olga has a folder") { access(chats + "/olga", F_OK) == 0 }
            return Pair(relays: relays, olga: olga, client: client, contact: contact, mount: mount)
        }

        /// Olga sends a file, which is read whole here.
        func receive(_ name: String, count: Int) async throws {
            let source = olga.files + "/" + name
            _ = try await Shell.script(
                "head -c \(count) /dev/urandom >'\(source)'", limit: .seconds(120))
            try await client.command(
                "/_send @\(contact) json [{\"fileSource\":{\"filePath\":\"\(name)\"},"
                    + "\"msgContent\":{\"type\":\"file\",\"text\":\"\"},\"mentions\":{}}]")
            try await wait(until: "\(name) is offered", within: .seconds(60)) {
                access(chat + "/" + name, F_OK) == 0
            }
            // Its description comes when it is on the relay: a read before that has its own deadline.
            try await wait(until: "\(name) can be read", within: .seconds(600)) {
                try await Shell.run("cmp", [source, chat + "/" + name], limit: .seconds(300)).succeeded
            }
        }

        /// A file is copied in here, and received by Olga.
        func send(_ name: String, count: Int) async throws {
            let source = relays.folder.path(name)
            let copied = try await Shell.script(
                "head -c \(count) /dev/urandom >'\(source)' && cp '\(source)' '\(chat)/'",
                limit: .seconds(120))
            guard copied.succeeded else { throw WaitedInVain("cp: \(copied.errors)") }
            let offer = try await client.event(
                "newChatItems", with: "\"fileName\":\"\(name)\"", within: .seconds(300))
            let file = try OfficialClient.number("fileId", in: offer)
            try await client.command("/freceive \(file) approved_relays=on")
            try await client.event("rcvFileComplete", with: "\"fileName\":\"\(name)\"", within: .seconds(600))
            let compared = try await Shell.run(
                "cmp", [source, olga.files + "/" + name], limit: .seconds(300))
            #expect(compared.succeeded, "\(compared.output)")
        }

        func end() async throws {
            #expect(try await mount.terminate() == .code(0))
            client.close()
            try await olga.stopProgram()
            try await relays.stop()
        }
    }

    @Test("300 MiB go either way, byte for byte")
    func large() async throws {
        let pair = try await Pair.start()
        try await pair.receive("from olga.bin", count: 300 << 20)
        try await pair.send("to olga.bin", count: 300 << 20)
        try await pair.end()
    }

    @Test("when the program moves its connection elsewhere and agrees on new keys, files go on both ways")
    func renewed() async throws {
        let pair = try await Pair.start()
        try await pair.receive("first.bin", count: 100_000)
        try await pair.client.command("/_switch @\(pair.contact)")
        try await pair.client.event(
            "contactSwitch", with: "\"switchPhase\":\"completed\"", within: .seconds(120))
        try await pair.receive("moved.bin", count: 100_000)
        try await pair.send("moved back.bin", count: 100_000)
        try await pair.client.command("/_sync @\(pair.contact) force=on")
        try await pair.client.event(
            "contactRatchetSync", with: "\"ratchetSyncStatus\":\"ok\"", within: .seconds(120))
        try await pair.receive("agreed.bin", count: 100_000)
        try await pair.send("agreed back.bin", count: 100_000)
        try await pair.end()
    }
}
