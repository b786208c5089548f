import Base
import ChatCore
import JSON
import Testing

@testable import OfficialCore

@Suite("Differences of version 7.0")
struct LaterVersionTests {
    @Test("an excessive size is not receivable")
    func largestSize() {
        func file(_ size: String, _ status: String) -> APIFile? {
            JSONValue.parse(
                Array(
                    #"{"fileId":5,"fileName":"a","fileSize":\#(size),"fileStatus":{"type":"\#(status)"}}"#
                        .utf8)
            ).flatMap(APIFile.init)
        }
        for size in ["5368709121", "9223372036854775807"] {
            let file = file(size, "rcvInvitation")
            #expect(file?.size == 5 << 30 && file?.status == .rcvError(.tooLargeToReceive))
        }
        #expect(file("5368709120", "rcvInvitation")?.status == .rcvInvitation(described: false))
        // One of the user's own notes, whose file exists.
        #expect(file("9000000000", "sndStored")?.size == 9_000_000_000)
    }

    private static func file(_ fields: String) -> APIFile? {
        JSONValue.parse(Array(#"{"fileId":5,"fileName":"a","fileSize":1,\#(fields)}"#.utf8))
            .flatMap(APIFile.init)
    }

    private static func item(_ direction: String) throws -> APIItem {
        let kind = try VersionTests.event(
            #"""
            {"type":"newChatItems","chatItems":[{"chatInfo":{"type":"group","groupInfo":{"groupId":3,
            "groupProfile":{"displayName":"news"}}},"chatItem":{"chatDir":\#(direction),
            "meta":{"itemId":70,"itemTs":"2026-11-20T08:29:55Z"},
            "content":{"type":"rcvMsgContent","msgContent":{"type":"file","text":""}}}}]}
            """#)
        guard case .newChatItems(let items) = kind else { throw NotAnItem() }
        return try #require(items.first)
    }

    private struct NotAnItem: Error {}

    @Test(
        "both spellings name the file protocol",
        arguments: [
            ("xftp", .xftp), ("XFTP", .xftp), ("smp", .smp), ("SMP", .smp), ("local", .local),
            ("LOCAL", .local),
            ("quic", .xftp),
        ] as [(String, ChatFile.Transport)])
    func transports(_ word: String, _ transport: ChatFile.Transport) {
        #expect(Self.file(#""fileProtocol":"\#(word)""#)?.transport == transport)
    }

    @Test(
        "nested and flat paths decode",
        arguments: [
            #"{"type":"accepted","fileInfo":{"filePath":"/srv/x","connId":null}}"#,
            #"{"type":"accepted","filePath":"/srv/x"}"#,
        ])
    func receivedFiles(_ status: String) throws {
        let json = #"{"fileId":9,"fileInvitation":{"fileName":"x","fileSize":3},"fileStatus":\#(status)}"#
        let file = JSONValue.parse(Array(json.utf8)).flatMap(APIReceivedFile.init)
        #expect(file?.path == "/srv/x")
        let done = try VersionTests.event(
            #"{"type":"rcvStandaloneFileComplete","rcvFileTransfer":\#(json)}"#)
        #expect(done == .rcvStandaloneFileComplete(FileID(9), path: "/srv/x"))
    }

    @Test("a channel is the sender of its messages")
    func channels() throws {
        let item = try Self.item(#"{"type":"channelRcv"}"#)
        #expect(item.direction == .received && item.sender == "news")
        let member = #"{"type":"groupRcv","groupMember":{"memberProfile":{"displayName":"Ann"}}}"#
        #expect(try Self.item(member).sender == "Ann")
        #expect(try Self.item(#"{"type":"groupSnd"}"#).direction == .sent)
    }

    @Test("channel roles decide about sending")
    func roles() throws {
        for (role, maySend) in [("relay", false), ("author", true), ("aRoleOfLater", true)] {
            let kind = try VersionTests.event(
                """
                {"type":"groupUpdated","toGroup":{"groupId":3,"membership":{"memberRole":"\(role)",\
                "memberStatus":"connected"},"fullGroupPreferences":{"files":{"enable":"on"}}}}
                """)
            guard case .chatUpdated(let chat) = kind else {
                Issue.record("\(kind)")
                return
            }
            #expect((chat.sendingRefused == nil) == maySend, "\(role)")
        }
    }

    @Test("support scopes decode, later scopes are ignored")
    func scopes() {
        let scope = { (json: String) in JSONValue.parse(Array(json.utf8)).flatMap(APIGroupScope.init) }
        #expect(scope(#"{"type":"memberSupport","groupMemberId_":9}"#) == .support(member: 9))
        #expect(
            scope(#"{"type":"memberSupport","groupMember_":{"groupMemberId":9}}"#) == .support(member: 9))
        #expect(scope(#"{"type":"memberSupport"}"#) == .support(member: nil))
        #expect(scope(#"{"type":"reports"}"#) == nil)
        for text in ["@7", "#3", "#3(_support)", "#3(_support:9)", "*1"] {
            #expect(APIChatReference(text: text)?.description == text)
        }
        for text in ["#3(_support", "#3(_other)", "#3(_support:x)", "3", ""] {
            #expect(APIChatReference(text: text) == nil)
        }
    }

    @Test("unknown events are ignored")
    func news() throws {
        for type in ["subscriptionStatus", "hostConnected", "groupRelayUpdated", "chatTagsUpdated"] {
            #expect(try VersionTests.event(#"{"type":"\#(type)","user":{"userId":1}}"#) == .other(type))
        }
        let kind = try VersionTests.event(
            #"{"type":"contactSomethingNew","contact":{"contactId":4,"localDisplayName":"bob"}}"#)
        guard case .chatUpdated(let chat) = kind else {
            Issue.record("\(kind)")
            return
        }
        #expect(chat.reference.chat == .direct(4))
    }

    @Test("both spellings of database rows decode")
    func rows() throws {
        for type in ["sQLResult", "sqlResult"] {
            let answer = try VersionTests.answer(#"{"result":{"type":"\#(type)","rows":["a|b","1|2"]}}"#)
            #expect(answer == .rows(["a|b", "1|2"]))
        }
    }

    @Test("an unknown file state changes nothing")
    func states() throws {
        let status = try #require(Self.file(#""fileStatus":{"type":"rcvPausedByUser"}"#)?.status)
        #expect(!status.isReadable)
        let unreadable = try #require(Self.file(#""fileStatus":{"type":"invalid","text":"x"}"#)?.status)
        #expect(!unreadable.isReadable)
    }
}
