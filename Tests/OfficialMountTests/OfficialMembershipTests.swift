import Glibc
import Posix
import TestSupport
import Testing

@Suite(
    "ChatFS's core as a member of official groups", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct OfficialMembershipTests {
    @Test(
        "an invited member exchanges files")
    func invitation() async throws {
        let relays = try await OfficialRelays()
        let olga = try await OfficialPerson("olga", relays)
        let client = try await olga.client()
        let data = ["--data", relays.folder.path("data")]
        let link = try OfficialClient.text("connShortLink", in: try await client.command("/connect"))
        let contact = try await ChatFSProcess.run(
            [
                "accept", link, "--profile", "reader", "--server", relays.messages.address, "--relay",
                relays.files.address,
            ] + data)
        try #require(contact.succeeded, "\(contact.errors)")
        let made = try await client.command(
            #"/_group 1 {"displayName":"club","fullName":""}"#)
        let group = try OfficialClient.number("groupId", in: made)
        try await client.command(
            "/_add #\(group) \(try await client.chat("contactId", named: "reader")) member")
        try await wait(until: "the invitation is listed", within: .seconds(60)) {
            try await ChatFSProcess.run(["requests"] + data).output.contains("into the group club")
        }
        let accepted = try await ChatFSProcess.run(["accept", "1"] + data)
        #expect(accepted.output == "Joined the group club.\n", "\(accepted.errors)")
        try await exchange(in: group, client, olga, relays, data)
        client.close()
        try await olga.stopProgram()
        try await relays.stop()
    }

    @Test("a group link joins, short or long")
    func link() async throws {
        let relays = try await OfficialRelays()
        let olga = try await OfficialPerson("olga", relays)
        let client = try await olga.client()
        let made = try await client.command(#"/_group 1 {"displayName":"club","fullName":""}"#)
        let group = try OfficialClient.number("groupId", in: made)
        let answer = try await client.command("/_create link #\(group) member")
        for (number, kind) in ["connShortLink", "connFullLink"].enumerated() {
            let accepted = try await ChatFSProcess.run(
                [
                    "accept", try OfficialClient.text(kind, in: answer), "--profile", "reader\(number)",
                    "--data", relays.folder.path("data \(number)"), "--server", relays.messages.address,
                    "--relay", relays.files.address,
                ])
            #expect(accepted.output == "Joined the group club.\n", "\(accepted.errors)")
        }
        try await exchange(in: group, client, olga, relays, ["--data", relays.folder.path("data 0")])
        client.close()
        try await olga.stopProgram()
        try await relays.stop()
    }

    /// Exchanges a file in each direction through a mount; then the host renames the group.
    private func exchange(
        in group: Int64, _ client: OfficialClient, _ olga: OfficialPerson, _ relays: OfficialRelays,
        _ data: [String]
    ) async throws {
        let chats = try relays.folder.makeFolder("Chats")
        let mount = try await ChatFSProcess.start(
            ["mount", chats, "--cache-dir", relays.folder.path("cache")] + data)
        try await wait(until: "the group has a folder") { access(chats + "/club", F_OK) == 0 }
        let photo = olga.files + "/photo.bin"
        _ = try await Shell.script("head -c 300000 /dev/urandom >'\(photo)'")
        try await client.command(
            "/_send #\(group) json [{\"fileSource\":{\"filePath\":\"photo.bin\"},"
                + "\"msgContent\":{\"type\":\"file\",\"text\":\"\"},\"mentions\":{}}]")
        try await wait(until: "the photo can be read", within: .seconds(60)) {
            try await Shell.run("cmp", [photo, chats + "/club/photo.bin"]).succeeded
        }
        let source = relays.folder.path("answer.bin")
        _ = try await Shell.script(
            "head -c 70000 /dev/urandom >'\(source)' && cp '\(source)' '\(chats)/club/'")
        let offer = try await client.event("newChatItems", with: "\"fileName\":\"answer.bin\"")
        try await client.command(
            "/freceive \(OfficialClient.number("fileId", in: offer)) approved_relays=on")
        try await client.event("rcvFileComplete", with: "\"fileName\":\"answer.bin\"")
        #expect(try await Shell.run("cmp", [source, olga.files + "/answer.bin"]).succeeded)
        try await client.command(
            #"/_group_profile #\#(group) {"displayName":"book club","fullName":""}"#)
        // The folder keeps its first name.
        try await wait(until: "the new name is listed", within: .seconds(60)) {
            try await ChatFSProcess.run(["chats", chats]).output.contains("display name: book club")
        }
        #expect(try await ChatFSProcess.run(["group", "list"] + data).output == "club\n")
        #expect(try await mount.terminate() == .code(0))
    }
}
