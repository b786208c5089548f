import Base
import ChatCore
import JSON
import Testing

@testable import OfficialCore

@Suite("Versions 6.4 and 7.0, socket and library")
struct VersionTests {
    static func answer(_ json: String) throws -> APIResponse {
        try #require(APIFrame(Array(json.utf8))).answer()
    }

    static func event(_ json: String) throws -> APIEvent.Kind {
        try #require(APIFrame(Array(#"{"resp":\#(json)}"#.utf8))).event.kind
    }

    @Test("both envelopes decode")
    func envelopes() throws {
        #expect(try Self.answer(#"{"corrId":"1","resp":{"type":"cmdOk"}}"#) == .done)
        #expect(try Self.answer(#"{"result":{"type":"cmdOk","user_":null}}"#) == .done)
        #expect(throws: OfficialCoreError.self) {
            try Self.answer(#"{"error":{"type":"error","errorType":{"type":"noActiveUser"}}}"#)
        }
        #expect(throws: OfficialCoreError.self) {
            try Self.answer(#"{"corrId":"1","resp":{"type":"chatCmdError","chatError":{"type":"error"}}}"#)
        }
        #expect(APIFrame(Array(#"{"corrId":null,"resp":{"type":"cmdOk"}}"#.utf8))?.correlation == nil)
        for text in ["[]", "{}", #"{"resp":1}"#, "1", #"{"resp":null}"#] {
            #expect(APIFrame(Array(text.utf8)) == nil)
        }
        #expect(try Self.answer(#"{"result":{"type":"newInLater","x":1}}"#) == .other("newInLater"))
    }

    @Test(
        "a contact's state decides about sending",
        arguments: [
            (#""activeConn":{"connStatus":"ready"},"contactStatus":"active""#, true),
            (#""activeConn":{"connStatus":{"type":"ready"}},"contactStatus":"active""#, true),
            (#""activeConn":{"connStatus":"snd-ready"},"contactStatus":"active""#, true),
            (#""activeConn":{"connStatus":"joined"},"contactStatus":"active""#, false),
            (#""activeConn":{"connStatus":"ready"},"contactStatus":"deleted""#, false),
            (#""contactStatus":"active""#, false),
        ])
    func contacts(_ fields: String, _ isReady: Bool) throws {
        let kind = try Self.event(#"{"type":"contactUpdated","toContact":{"contactId":4,\#(fields)}}"#)
        guard case .chatUpdated(let chat) = kind else {
            Issue.record("\(kind)")
            return
        }
        #expect((chat.sendingRefused == nil) == isReady)
    }

    @Test(
        "role and preference permit files",
        arguments: [
            ("member", "connected", #"{"enable":"on"}"#, true),
            ("member", "complete", #"{"enable":"off"}"#, false),
            ("member", "connected", #"{"enable":"on","role":"admin"}"#, false),
            ("owner", "creator", #"{"enable":"on","role":"admin"}"#, true),
            ("observer", "connected", #"{"enable":"on"}"#, false),
            ("admin", "left", #"{"enable":"on"}"#, false),
            ("admin", "invited", #"{"enable":"on"}"#, false),
        ])
    func groupFiles(_ role: String, _ status: String, _ files: String, _ mayFile: Bool) throws {
        let kind = try Self.event(
            #"{"type":"groupUpdated","toGroup":{"groupId":3,"localDisplayName":"g","membership":{"memberRole":"\#(role)","memberStatus":"\#(status)"},"fullGroupPreferences":{"files":\#(files)}}}"#
        )
        guard case .chatUpdated(let chat) = kind else {
            Issue.record("\(kind)")
            return
        }
        #expect((chat.sendingRefused == nil) == mayFile)
    }

    @Test("a support scope item of 7.0 decodes")
    func item() throws {
        let kind = try Self.event(
            #"""
            {"type":"newChatItems","user":{"userId":2},"chatItems":[{"chatInfo":{"type":"group","groupInfo":{"groupId":3,
            "groupProfile":{"displayName":"club"},"localAlias":"my club"},"groupChatScope":{"type":"memberSupport",
            "groupMember_":{"groupMemberId":9}}},"chatItem":{"chatDir":{"type":"groupRcv","groupMember":{"groupMemberId":9,
            "memberProfile":{"displayName":"Ann"}}},"meta":{"itemId":70,"itemTs":"2026-11-20T08:29:55.1Z",
            "itemTimed":{"ttl":60,"deleteAt":"2026-11-20T08:30:55Z"},"itemDeleted":{"type":"moderated"}},
            "content":{"type":"rcvMsgContent","msgContent":{"type":"video","text":"t","image":"data:","duration":7}},
            "file":{"fileId":5,"fileName":"a.mp4","fileSize":10,"fileStatus":{"type":"rcvInvitation"},"fileProtocol":"XFTP"}}}]}
            """#)
        guard case .newChatItems(let items) = kind, let item = items.first else {
            Issue.record("\(kind)")
            return
        }
        #expect(item.chat.reference.description == "#3(_support:9)")
        #expect(item.chat.displayName == "my club" && item.sender == "Ann")
        #expect(item.content == MessageContent(kind: .video(preview: "data:", seconds: 7), text: "t"))
        #expect(item.file?.transport == .xftp && item.deletion == .moderated)
        #expect(item.disappears)
        #expect(item.chatItem(own: "me", filesFolder: "/f") == nil)
    }

    @Test("a path outside the files folder is refused")
    func paths() {
        let source = { (path: String) in
            JSONValue.parse(Array(#"{"filePath":"\#(path)"}"#.utf8)).flatMap(APIFileSource.init)
        }
        #expect(source("a..b")?.location(filesFolder: "/f").path == "/f/a..b")
        #expect(source("outbox/u/a")?.location(filesFolder: "/f").path == "/f/outbox/u/a")
        #expect(source("/abs/x")?.location(filesFolder: "/f").path == "/abs/x")
        for path in ["../x", "a/../../x", "", #"a\u0000b"#] { #expect(source(path) == nil) }
        // U+0600 joins the following slash, U+0301 the preceding slash.
        #expect(source("a\u{600}/../../x") == nil)
        #expect(source("/\u{301}x")?.location(filesFolder: "/f").path == "/\u{301}x")
    }

    @Test(
        "old versions are unsupported",
        arguments: [
            ("6.4.5.1", true), ("7.0.2", true), ("6.3.9", false), ("5.8", false), ("10.0", true),
            ("?", false),
        ])
    func versions(_ text: String, _ isSupported: Bool) {
        #expect(APIVersion(version: text).isSupported == isSupported)
    }
}
