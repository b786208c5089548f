import Base
import Glibc
import Posix
import TestSupport
import Testing

@Suite(
    "Member connections in official groups", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct OfficialMeshTests {
    /// An official host and two official members. The first member joins before the reader, the second after
    /// the reader.
    private struct Group {
        let relays: OfficialRelays
        let host: OfficialPerson
        var members: [(name: String, person: OfficialPerson, client: OfficialClient)] = []
        let client: OfficialClient
        let number: Int64
        let link: String

        init() async throws {
            relays = try await OfficialRelays()
            host = try await OfficialPerson("olga", relays)
            client = try await host.client()
            let made = try await client.command(#"/_group 1 {"displayName":"club","fullName":""}"#)
            number = try OfficialClient.number("groupId", in: made)
            link = try OfficialClient.text(
                "connFullLink", in: try await client.command("/_create link #\(number) member"))
        }

        var data: [String] { ["--data", relays.folder.path("data")] }
        var chats: String { relays.folder.path("Chats") }

        mutating func admit(_ name: String) async throws {
            let person = try await OfficialPerson(name, relays)
            let client = try await person.client()
            try await client.command("/connect \(link)")
            try await client.event("userJoinedGroup")
            members.append((name, person, client))
        }

        func admitReader() async throws -> RunningProcess {
            let accepted = try await ChatFSProcess.run(
                [
                    "accept", link, "--profile", "reader", "--server", relays.messages.address, "--relay",
                    relays.files.address,
                ] + data)
            #expect(accepted.output == "Joined the group club.\n", "\(accepted.errors)")
            _ = try relays.folder.makeFolder("Chats")
            let mount = try await ChatFSProcess.start(
                ["mount", chats, "--cache-dir", relays.folder.path("cache")] + data)
            try await wait(until: "the group has a folder") { access(chats + "/club", F_OK) == 0 }
            return mount
        }

        var log: String {
            String(
                decoding: (try? relays.folder.read("Chats/.chatfs/messages/club.jsonl")) ?? [],
                as: UTF8.self)
        }

        /// Whether an official member shows the reader as connected.
        func isReaderConnected(_ client: OfficialClient) async throws -> Bool {
            let group = try await client.chat("groupId", named: "club")
            let answer = try await client.command("/_members #\(group)")
            guard
                let member = answer.components(separatedBy: "\"groupMemberId\":").first(where: {
                    $0.contains("\"localDisplayName\":\"reader\"")
                })
            else { return false }
            return member.contains("\"connStatus\":{\"type\":\"ready\"}")
                || member.contains("\"connStatus\":\"ready\"")
        }

        func end() async throws {
            client.close()
            for member in members {
                member.client.close()
                try await member.person.stopProgram()
            }
            try await relays.stop()
        }
    }

    @Test("members exchange messages and files without the host")
    func mesh() async throws {
        var group = try await Group()
        try await group.admit("otto")
        let mount = try await group.admitReader()
        try await group.admit("ilse")
        for member in group.members {
            try await wait(until: "\(member.name) is connected with the reader", within: .seconds(60)) {
                try await group.isReaderConnected(member.client)
            }
        }
        // The host's program has ended: no message can be forwarded.
        try await group.host.stopProgram()
        for member in group.members {
            let number = try await member.client.chat("groupId", named: "club")
            try await member.client.command(
                "/_send #\(number) json [{\"msgContent\":{\"type\":\"text\",\"text\":\"from \(member.name)\"},"
                    + "\"mentions\":{}}]")
            try await wait(until: "the reader has it", within: .seconds(60)) {
                group.log.contains("from \(member.name)")
            }
            let photo = member.person.files + "/\(member.name).bin"
            _ = try await Shell.script("head -c 90000 /dev/urandom >'\(photo)'")
            try await member.client.command(
                "/_send #\(number) json [{\"fileSource\":{\"filePath\":\"\(member.name).bin\"},"
                    + "\"msgContent\":{\"type\":\"file\",\"text\":\"\"},\"mentions\":{}}]")
            try await wait(until: "the file of \(member.name) can be read", within: .seconds(60)) {
                try await Shell.run("cmp", [photo, "\(group.chats)/club/\(member.name).bin"]).succeeded
            }
        }
        let sent = try await ChatFSProcess.run(["send", "--text", "to all", "club"] + group.data)
        #expect(sent.succeeded, "\(sent.errors)")
        _ = try await Shell.script("head -c 70000 /dev/urandom >'\(group.chats)/club/answer.bin'")
        for member in group.members {
            try await member.client.event("newChatItems", with: "\"text\":\"to all\"")
            let offer = try await member.client.event("newChatItems", with: "\"fileName\":\"answer.bin\"")
            try await member.client.command(
                "/freceive \(OfficialClient.number("fileId", in: offer)) approved_relays=on")
            try await member.client.event("rcvFileComplete", with: "\"fileName\":\"answer.bin\"")
            // Once, although the host forwarded the first messages.
            #expect(group.log.components(separatedBy: "\"from \(member.name)\"").count == 2)
        }
        #expect(try await mount.terminate() == .code(0))
        try await group.end()
    }

    @Test(
        "a moderator deletes messages and removes members")
    func moderation() async throws {
        var group = try await Group()
        try await group.admit("otto")
        let mount = try await group.admitReader()
        let otto = group.members[0]
        try await wait(until: "otto is connected with the reader", within: .seconds(60)) {
            try await group.isReaderConnected(otto.client)
        }
        let members = try await group.client.command("/_members #\(group.number)")
        let part = try #require(
            members.components(separatedBy: "\"groupMemberId\":").first {
                $0.contains("\"localDisplayName\":\"otto\"")
            })
        let number = try #require(Int64(part.prefix { $0.isNumber }))
        try await group.client.command("/_member role #\(group.number) \(number) moderator")
        try await otto.client.event("memberRole")
        let sent = try await ChatFSProcess.run(["send", "--text", "too loud", "club"] + group.data)
        #expect(sent.succeeded, "\(sent.errors)")
        let item = try await otto.client.event("newChatItems", with: "\"text\":\"too loud\"")
        let itemNumber = try OfficialClient.number("itemId", in: item)
        let own = try await otto.client.chat("groupId", named: "club")
        try await otto.client.command("/_delete member item #\(own) \(itemNumber)")
        try await wait(until: "the reader's log says so", within: .seconds(60)) {
            group.log.contains("\"event\":\"deletion\"")
        }
        try await group.client.command("/_remove #\(group.number) \(number)")
        try await otto.client.event("deletedMemberUser")
        let after = try await ChatFSProcess.run(["send", "--text", "without otto", "club"] + group.data)
        #expect(after.succeeded, "\(after.errors)")
        try await group.client.event("newChatItems", with: "\"text\":\"without otto\"")
        #expect(otto.client.count(of: "newChatItems") >= 1)
        #expect(try await mount.terminate() == .code(0))
        try await group.host.stopProgram()
        try await group.end()
    }

    @Test("SimpleX Chat joins by ChatFS's link and invitation")
    func throughTheProgram() async throws {
        let group = try await Group()
        let otto = try await OfficialPerson("otto", group.relays)
        try await wait(until: "the group is joined", within: .seconds(90)) {
            try await otto.chatfs(["accept", group.link]).contains("Joined the group club.")
        }
        // The second group uses an invitation.
        let client = try await otto.client()
        let link = try OfficialClient.text("connFullLink", in: try await group.client.command("/connect"))
        try await client.command("/connect \(link)")
        try await group.client.event("contactConnected", with: "\"otto\"")
        let made = try await group.client.command(#"/_group 1 {"displayName":"choir","fullName":""}"#)
        let choir = try OfficialClient.number("groupId", in: made)
        let contacts = try await group.client.command("/_contacts 1")
        let contact = try OfficialClient.number("contactId", in: contacts)
        try await group.client.command("/_add #\(choir) \(contact) observer")
        var line = ""
        try await wait(until: "the invitation is listed", within: .seconds(60)) {
            line = try await otto.chatfs(["requests"])
            return line.contains("into the group choir")
        }
        let number = String(line.prefix { $0.isNumber })
        #expect(try await otto.chatfs(["accept", number]) == "Joined the group choir.\n")
        client.close()
        try await otto.stopProgram()
        try await group.host.stopProgram()
        try await group.end()
    }
}
