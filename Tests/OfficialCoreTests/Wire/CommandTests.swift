import Base
import ChatCore
import Testing

@testable import OfficialCore

@Suite("Commands")
struct CommandTests {
    static let secret = FileSourceLocation(
        path: "/srv/out/b \"c\".pdf",
        arguments: FileArguments(
            key: [UInt8](repeating: 1, count: 32), nonce: [UInt8](repeating: 2, count: 24)))

    @Test(
        "command texts are exact",
        arguments: [
            (
                .markRead(APIChatReference(.group(3), scope: .support(member: 9)), [ItemID(7), ItemID(8)]),
                "/_read chat items #3(_support:9) 7,8"
            ),
            (
                APICommand.createUser(displayName: #"Zoë "Z""#),
                #"/_create user {"profile":{"displayName":"Zoë \"Z\"","fullName":""},"pastTimestamp":false,"userChatRelay":false,"clientService":false}"#
            ),
            (.filesFolder("/srv/a b"), "/_files_folder /srv/a b"),
            (.temporaryFolder("/srv/t"), "/_temp_folder /srv/t"),
            (.setActiveUser(2), "/_user 2"), (.stop, "/_stop"), (.network, "/network"),
            (
                .chats(user: 1, count: 9),
                #"/_get chats 1 pcc=off count=9 {"type":"filters","favorite":false,"unread":false}"#
            ),
            (
                .chatPage(
                    APIChatReference(.group(3), scope: .support(member: 5)), .before(ItemID(8), count: 2)),
                "/_get chat #3(_support:5) before=8 count=2"
            ),
            (
                .chatPage(APIChatReference(.notes(1)), .before(ItemID(8), count: 2)),
                "/_get chat *1 before=8 count=2"
            ),
            (
                .chatPage(APIChatReference(.direct(1)), .around(ItemID(8), count: 2)),
                "/_get chat @1 around=8 count=2"
            ),
            (.cancelFile(FileID(4)), "/fcancel 4"),
            (
                .receiveFile(FileID(4), approvedRelays: true, encrypted: nil, path: "/srv/x y"),
                "/freceive 4 approved_relays=on /srv/x y"
            ),
            (
                .deleteItems(APIChatReference(.group(3)), [ItemID(4), ItemID(5)], .internal),
                "/_delete item #3 4,5 internal"
            ),
            (
                .download(user: 1, link: "simplex:/file#/?desc=x", path: "/srv/x"),
                "/_download 1 simplex:/file#/?desc=x /srv/x"
            ),
        ])
    func texts(_ command: APICommand, _ text: String) throws { #expect(try command.text() == text) }

    @Test("a message includes its file key")
    func message() throws {
        let content = MessageContent(kind: .image(preview: "data:image/jpg;base64,AA"), text: "line\nbreak")
        let command = APICommand.send(
            APIChatReference(.direct(4)), [APIComposedMessage(source: Self.secret, content: content)])
        #expect(
            try command.text()
                == #"/_send @4 json [{"fileSource":{"filePath":"/srv/out/b \"c\".pdf","cryptoArgs":{"fileKey":"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=","fileNonce":"AgICAgICAgICAgICAgICAgICAgICAgIC"}},"msgContent":{"type":"image","text":"line\nbreak","image":"data:image/jpg;base64,AA"},"mentions":{}}]"#
        )
    }

    @Test("a path with a line break is refused")
    func lineBreaks() {
        for path in [
            "/tmp/a\nb", "/tmp/a\u{0}b", "/tmp/a\r", "/tmp/a\r\nb", "relative", "", "/tmp/a ", "/\u{7F}",
        ] {
            let commands: [APICommand] = [
                .filesFolder(path), .temporaryFolder(path), .upload(user: 1, path: path),
                .download(user: 1, link: "simplex:/file#/?x", path: path),
                .receiveFile(FileID(1), approvedRelays: false, encrypted: nil, path: path),
            ]
            for command in commands {
                #expect(throws: OfficialCoreError.self) { try command.text() }
            }
        }
        for link in ["", "a b", "a\nb", "ä"] {
            #expect(throws: OfficialCoreError.self) {
                try APICommand.connectionPlan(user: 1, link: link).text()
            }
        }
        for statement in ["DELETE FROM files", "SELECT 1\n/_delete", "select 1"] {
            #expect(throws: OfficialCoreError.self) { try APICommand.query(statement).text() }
            #expect(throws: OfficialCoreError.self) { try APICommand.agentQuery(statement).text() }
        }
        for name in ["", "a\nb", String(repeating: "x", count: 256)] {
            #expect(throws: OfficialCoreError.self) { try APICommand.createUser(displayName: name).text() }
        }
    }
}
