import Base
import Glibc
import Posix
import TestSupport
import Testing

@Suite(
    "Texts between ChatFS's core and the official program", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct OfficialTextTests {
    @Test("texts, edits, deletions and receipts work both ways")
    func texts() async throws {
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
        let log = "Chats/.chatfs/messages/olga.jsonl"
        func line(_ parts: String...) async throws {
            try await wait(until: "a line with \(parts)", within: .seconds(60)) {
                let text = (try? relays.folder.read(log)).map { String(decoding: $0, as: UTF8.self) } ?? ""
                return text.split(separator: "\n").contains { line in parts.allSatisfy { line.contains($0) } }
            }
        }

        // From the program: a text, its edit and its deletion. The program shows a receipt for each.
        try await client.command("@reader a first draft")
        try await line(#""event":"message""#, #""direction":"received""#, "a first draft")
        try await client.event("chatItemsStatusesUpdated", with: "sndRcvd")
        let history = try await client.command("/_get chat @\(contact) count=1 search=a first draft")
        let item = try OfficialClient.number("itemId", in: history)
        try await client.command(
            "/_update item @\(contact) \(item) json {\"msgContent\":{\"type\":\"text\",\"text\":"
                + "\"a second draft\"},\"mentions\":{}}")
        try await line(#""event":"edit""#, "a second draft")
        try await client.command("/_delete item @\(contact) \(item) broadcast")
        try await line(#""event":"deletion""#, #""direction":"received""#)

        // From ChatFS: the program shows the text, and ChatFS shows its receipt.
        let sent = try await ChatFSProcess.run(["send", "--text", "an answer", "olga"] + data)
        #expect(sent.succeeded, "\(sent.errors)")
        try await client.event("newChatItems", with: "an answer")
        try await line(#""event":"message""#, #""direction":"sent""#, "an answer")
        try await line(#""event":"state""#, #""state":"delivered""#)

        // An inline file of one byte in each direction, with a receipt for the one that ChatFS sent.
        _ = try await Shell.script("printf x >'\(olga.files)/one.bin'; printf y >'\(chats)/olga/own.bin'")
        try await client.command(
            "/_send @\(contact) json [{\"fileSource\":{\"filePath\":\"one.bin\"},"
                + "\"msgContent\":{\"type\":\"file\",\"text\":\"\"},\"mentions\":{}}]")
        try await wait(until: "the byte can be read", within: .seconds(60)) {
            (try? relays.folder.read("Chats/olga/one.bin")) == Array("x".utf8)
        }
        try await wait(until: "the program has confirmed the other", within: .seconds(60)) {
            try ExtendedAttribute.text("user.chatfs.state", of: chats + "/olga/own.bin") == "delivered"
        }
        #expect(try await mount.terminate() == .code(0))
        client.close()
        try await olga.stopProgram()
        try await relays.stop()
    }
}
