import Base
import Glibc
import Posix
import TestSupport
import Testing

@Suite(
    "ChatFS's core and an official contact", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct OfficialContactTests {
    @Test("links of either side connect, short or long")
    func links() async throws {
        let relays = try await OfficialRelays()
        let olga = try await OfficialPerson("olga", relays)
        let client = try await olga.client()
        let servers = ["--server", relays.messages.address, "--relay", relays.files.address]
        for (number, kind) in ["connShortLink", "connFullLink"].enumerated() {
            let name = "reader\(number)"
            let invitation = try await client.command("/connect")
            let link = try OfficialClient.text(kind, in: invitation)
            let data = ["--data", relays.folder.path("\(name) data")]
            let accepted = try await ChatFSProcess.run(["accept", link, "--profile", name] + data + servers)
            #expect(accepted.output == "olga is connected.\n", "\(accepted.errors)")
            try await client.event("contactConnected", with: "\"\(name)\"")
            let pair = try await ChatFSProcess.start(["pair"] + data)
            let own = try await pair.line("a link") { $0.hasPrefix("https://") }
            try await client.command("/connect \(own)")
            #expect(try await pair.ending() == .code(0))
        }
        client.close()
        try await olga.stopProgram()
        try await relays.stop()
    }

    @Test("files of any size arrive")
    func files() async throws {
        let relays = try await OfficialRelays()
        let olga = try await OfficialPerson("olga", relays)
        let client = try await olga.client()
        let link = try OfficialClient.text("connShortLink", in: try await client.command("/connect"))
        let data = ["--data", relays.folder.path("data")]
        let accepted = try await ChatFSProcess.run(
            [
                "accept", link, "--profile", "reader", "--server", relays.messages.address, "--relay",
                relays.files.address,
            ] + data)
        try #require(accepted.succeeded, "\(accepted.errors)")
        let contact = try await client.chat("contactId", named: "reader")
        let chats = try relays.folder.makeFolder("Chats")
        let mount = try await ChatFSProcess.start(
            ["mount", chats, "--cache-dir", relays.folder.path("cache")] + data)
        try await wait(until: "olga has a folder") { access(chats + "/olga", F_OK) == 0 }

        let photo = olga.files + "/photo.bin"
        _ = try await Shell.script("head -c 3000000 /dev/urandom >'\(photo)'")
        try await client.command(
            "/_send @\(contact) json [{\"fileSource\":{\"filePath\":\"photo.bin\"},"
                + "\"msgContent\":{\"type\":\"file\",\"text\":\"a caption\"},\"mentions\":{}}]")
        try await wait(until: "the photo is offered") { access(chats + "/olga/photo.bin", F_OK) == 0 }
        try await wait(until: "and can be read", within: .seconds(60)) {
            try await Shell.run("cmp", [photo, chats + "/olga/photo.bin"]).succeeded
        }

        for (name, count) in [("small.bin", 1), ("large.bin", 2_000_000)] {
            let source = relays.folder.path(name)
            _ = try await Shell.script(
                "head -c \(count) /dev/urandom >'\(source)' && cp '\(source)' '\(chats)/olga/'")
            let offer = try await client.event("newChatItems", with: "\"fileName\":\"\(name)\"")
            let file = try OfficialClient.number("fileId", in: offer)
            try await client.command("/freceive \(file) approved_relays=on")
            try await client.event("rcvFileComplete", with: "\"fileName\":\"\(name)\"")
            #expect(try await Shell.run("cmp", [source, olga.files + "/" + name]).succeeded)
        }

        let history = try await client.command("/_get chat @\(contact) count=1 search=a caption")
        let item = try OfficialClient.number("itemId", in: history)
        try await client.command("/_delete item @\(contact) \(item) broadcast")
        try await wait(until: "the photo, which is here, says so") {
            (try? ExtendedAttribute.text("user.chatfs.deleted", of: chats + "/olga/photo.bin")) == "by-sender"
        }
        try await client.command("/_delete @\(contact) full notify=on")
        try await wait(until: "nothing can be copied there") {
            let outcome = try await Shell.run("cp", [ChatFSProcess.path, chats + "/olga/late"])
            return outcome.errors.contains("Permission denied")
        }
        #expect(try await mount.terminate() == .code(0))
        client.close()
        try await olga.stopProgram()
        try await relays.stop()
    }
}
