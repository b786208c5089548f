import ChatCore
import JSON
import Testing

@testable import OfficialCore

@Suite("Command limits")
struct CommandLimitTests {
    private func isTaken(_ command: APICommand) -> Bool {
        do throws(OfficialCoreError) {
            _ = try command.text()
            return true
        } catch {
            #expect(error.code == .invalidCommand && error.sentence.hasSuffix("."))
            return false
        }
    }

    @Test("paths have at most 4096 bytes", arguments: [4095, 4096, 4097])
    func paths(count: Int) {
        let path = "/" + String(repeating: "ä", count: (count - 1) / 2) + (count % 2 == 0 ? "x" : "")
        #expect(path.utf8.count == count)
        for command in [
            APICommand.filesFolder(path), .upload(user: 1, path: path),
            .exportArchive(path: path, temporary: "/t"),
            .importArchive(path: "/a", temporary: path),
            .receiveFile(FileID(1), approvedRelays: true, encrypted: true, path: path),
        ] { #expect(isTaken(command) == (count <= 4096)) }
    }

    @Test("first profile names have 1…255 bytes", arguments: [0, 1, 254, 255, 256])
    func names(count: Int) {
        #expect(
            isTaken(.createUser(displayName: String(repeating: "n", count: count)))
                == (1...255).contains(count))
    }

    @Test(
        "a link has at most 1 MiB",
        arguments: [(1 << 20) - 1, 1 << 20, (1 << 20) + 1])
    func links(count: Int) {
        let link = String(repeating: "l", count: count)
        for command in [
            APICommand.download(user: 1, link: link, path: "/a"), .connectionPlan(user: 1, link: link),
        ] {
            #expect(isTaken(command) == (count <= 1 << 20))
        }
        for byte in UInt8.min...0x7F {
            let link = "simplex:/" + String(Unicode.Scalar(byte)) + "x"
            #expect(isTaken(.connectionPlan(user: 1, link: link)) == (0x21...0x7E).contains(byte))
        }
    }

    @Test("both link forms are checked")
    func connecting() throws {
        func link(_ full: String, _ short: String?) -> APILink? {
            let part = short.map { #","connShortLink":"\#($0)""# } ?? ""
            return JSONValue.parse(Array(#"{"connFullLink":"\#(full)"\#(part)}"#.utf8)).flatMap(APILink.init)
        }
        #expect(
            try APICommand.connect(user: 1, #require(link("full", "short"))).text()
                == "/_connect 1 full short")
        #expect(try APICommand.connect(user: 1, #require(link("full", nil))).text() == "/_connect 1 full")
        #expect(isTaken(.connect(user: 1, try #require(link("full", "sho rt")))) == false)
        #expect(isTaken(.connect(user: 1, try #require(link("fu ll", "short")))) == false)
        #expect(try #require(link("f", "s")).shown == "s" && #require(link("f", nil)).shown == "f")
        #expect(try "\(#require(link("secret", nil)))".contains("secret") == false)
    }

    @Test(
        "a key has 32 bytes, a nonce 24",
        arguments: [
            (32, 24, true), (31, 24, false), (33, 24, false), (32, 23, false), (32, 25, false), (0, 0, false),
        ])
    func keys(key: Int, nonce: Int, isTaken: Bool) {
        var source = CommandTests.secret
        source.arguments?.key = [UInt8](repeating: 1, count: key)
        source.arguments?.nonce = [UInt8](repeating: 2, count: nonce)
        let message = APIComposedMessage(source: source, content: MessageContent(kind: .file))
        #expect(self.isTaken(.send(APIChatReference(.direct(1)), [message])) == isTaken)
        #expect(self.isTaken(.createNotes(1, [message])) == isTaken)
    }

    @Test("content cannot escape its argument")
    func content() throws {
        let kinds: [(MessageContent.Kind, String)] = [
            (.text, #"{"type":"text","text":"\"},{\n\u0000"}"#),
            (.file, #"{"type":"file","text":"\"},{\n\u0000"}"#),
            (.image(preview: "data:\"\r"), #"{"type":"image","text":"\"},{\n\u0000","image":"data:\"\r"}"#),
            (
                .video(preview: "", seconds: -5),
                #"{"type":"video","text":"\"},{\n\u0000","image":"","duration":0}"#
            ),
            (.voice(seconds: 300), #"{"type":"voice","text":"\"},{\n\u0000","duration":300}"#),
            (.voice(seconds: .min), #"{"type":"voice","text":"\"},{\n\u0000","duration":0}"#),
        ]
        for (kind, json) in kinds {
            let message = APIComposedMessage(
                source: nil, content: MessageContent(kind: kind, text: "\"},{\n\u{0}"))
            #expect(
                try APICommand.send(APIChatReference(.group(3)), [message, message]).text()
                    == #"/_send #3 json [{"msgContent":\#(json),"mentions":{}},{"msgContent":\#(json),"mentions":{}}]"#
            )
        }
        for path in ["relative", "/a\nb", "/a\u{0}", ""] {
            let message = APIComposedMessage(
                source: .init(path: path, arguments: nil), content: MessageContent(kind: .file))
            #expect(!isTaken(.send(APIChatReference(.direct(1)), [message])), "\(path)")
        }
        // A space at the end does not end the line.
        let message = APIComposedMessage(
            source: .init(path: "/a b ", arguments: nil), content: MessageContent(kind: .file))
        #expect(
            try APICommand.createNotes(7, [message]).text().contains(
                #"/_create *7 json [{"fileSource":{"filePath":"/a b "}"#))
    }

    @Test("aliases have one line, lists are not empty")
    func lists() {
        #expect(isTaken(.setAlias(.direct(1), "bob")) && !isTaken(.setAlias(.direct(1), "b\nob")))
        for items in [[ItemID](), [ItemID(1)]] {
            #expect(isTaken(.deleteItems(APIChatReference(.direct(1)), items, .broadcast)) == !items.isEmpty)
            #expect(isTaken(.markRead(APIChatReference(.direct(1)), items)) == !items.isEmpty)
        }
    }

    @Test(
        "commands report whether they need the network",
        arguments: [
            (.send(APIChatReference(.direct(1)), []), true),
            (.deleteItems(APIChatReference(.direct(1)), [], .internal), true),
            (.leaveGroup(1), true), (.joinGroup(1), true),
            (.deleteChat(.direct(1), keepsHistory: true), true),
            (.receiveFile(FileID(1), approvedRelays: true, encrypted: nil, path: nil), true),
            (.setFileToReceive(FileID(1), approvedRelays: true, encrypted: nil), true),
            (.cancelFile(FileID(1)), true),
            (.upload(user: 1, path: ""), true), (.download(user: 1, link: "", path: ""), true),
            (.agentQuery(""), true),
            (.invite(user: 1), true), (.connectionPlan(user: 1, link: ""), true),
            (.securityCode(contact: 1), true), (.verifyCode(contact: 1, nil), true),
            (.renewKeys(contact: 1), true),
            (.moveQueue(contact: 1), true),
            (.createAddress(user: 1), true), (.deleteAddress(user: 1), true), (.acceptRequest(1), true),
            (.rejectRequest(1), true),
            (.createNotes(1, []), false), (.query(""), false), (.chats(user: 1, count: 1), false),
            (.user, false), (.start, false),
            (.suspend(.seconds(1)), false), (.activate, false), (.setAlias(.direct(1), ""), false),
            (.showAddress(user: 1), false),
            (.network, false), (.relays(user: 1), false),
            (.markRead(APIChatReference(.direct(1)), []), false), (.stop, false),
        ] as [(APICommand, Bool)])
    func network(command: APICommand, needsNetwork: Bool) { #expect(command.needsNetwork == needsNetwork) }

    @Test(
        "lifecycle, archive and contact commands are exact",
        arguments: [
            (.suspend(.milliseconds(1500)), "/_app suspend 1500000"), (.activate, "/_app activate"),
            (.user, "/user"), (.users, "/users"),
            (.start, "/_start"), (.version, "/version"), (.encryptFiles(true), "/_files_encrypt on"),
            (.encryptFiles(false), "/_files_encrypt off"),
            (.relays(user: 3), "/_servers 3"),
            (
                .exportArchive(path: "/a \"b\"", temporary: "/t"),
                #"/_db export {"archivePath":"/a \"b\"","parentTempDirectory":"/t"}"#
            ),
            (
                .importArchive(path: "/a", temporary: "/t"),
                #"/_db import {"archivePath":"/a","parentTempDirectory":"/t"}"#
            ),
            (.setAlias(.group(3), "book club"), "/_set alias #3 book club"), (.leaveGroup(3), "/_leave #3"),
            (.joinGroup(3), "/_join #3"),
            (.deleteChat(.direct(4), keepsHistory: true), "/_delete @4 entity notify=on"),
            (.deleteChat(.group(4), keepsHistory: false), "/_delete #4 full notify=on"),
            (.invite(user: 1), "/_connect 1"), (.connectionPlan(user: 1, link: "x"), "/_connect plan 1 x"),
            (.securityCode(contact: 4), "/_get code @4"),
            (.verifyCode(contact: 4, nil), "/_verify code @4"),
            (.verifyCode(contact: 4, "12 34\n/x"), "/_verify code @4 12 34"),
            (.renewKeys(contact: 4), "/_sync @4 force=on"), (.moveQueue(contact: 4), "/_switch @4"),
            (.createAddress(user: 1), "/_address 1"), (.showAddress(user: 1), "/_show_address 1"),
            (.deleteAddress(user: 1), "/_delete_address 1"),
            (
                .addressSettings(user: 1, acceptsAutomatically: true),
                #"/_address_settings 1 {"businessAddress":false,"autoAccept":{"acceptIncognito":false}}"#
            ),
            (
                .addressSettings(user: 1, acceptsAutomatically: false),
                #"/_address_settings 1 {"businessAddress":false}"#
            ),
            (.autoAccept(user: 1, true), "/_auto_accept 1 on"), (.acceptRequest(9), "/_accept 9"),
            (.rejectRequest(9), "/_reject 9"),
            (
                .setFileToReceive(FileID(5), approvedRelays: true, encrypted: false),
                "/_set_file_to_receive 5 approved_relays=on encrypt=off"
            ),
            (
                .receiveFile(FileID(5), approvedRelays: false, encrypted: true, path: nil),
                "/freceive 5 encrypt=on"
            ),
            (.query("SELECT 1"), "/sql chat SELECT 1"), (.agentQuery("SELECT 1"), "/sql agent SELECT 1"),
            (.upload(user: 2, path: "/a b"), "/_upload 2 /a b"),
        ] as [(APICommand, String)])
    func texts(command: APICommand, text: String) throws { #expect(try command.text() == text) }
}
