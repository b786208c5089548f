import ChatCore
import JSON
import Testing

@testable import OfficialCore

@Suite("Event decoding")
struct EventDecodingTests {
    private static let pair =
        #"{"chatInfo":{"type":"direct","contact":{"contactId":4,"localDisplayName":"bob"}},"#
        + #""chatItem":{"chatDir":{"type":"directRcv"},"meta":{"itemId":9,"itemTs":"2026-11-20T08:29:55Z"},"#
        + #""content":{"type":"rcvMsgContent","msgContent":{"type":"file","text":""}},"file":{"fileId":7,"fileName":"a","fileSize":1}}}"#
    private static let received = #""rcvFileTransfer":{"fileId":5}"#
    private static let sent = #""fileTransferMeta":{"fileId":6}"#

    private static func kind(_ type: String, _ members: String...) throws -> APIEvent.Kind {
        try VersionTests.event("{" + ([#""type":"\#(type)""#] + members).joined(separator: ",") + "}")
    }

    private static func item() throws -> APIItem {
        try #require(JSONValue.parse(Array(pair.utf8)).flatMap(APIItem.init(pair:)))
    }

    private static let withItem = #""chatItem":"# + pair
    private static let withMaybeItem = #""chatItem_":"# + pair

    @Test("receiving events need an item or file")
    func receiving() throws {
        let item = try Self.item()
        let events: [(String, (APIItem) -> APIEvent.Kind)] = [
            ("rcvFileAccepted", { .rcvFileAccepted($0) }), ("rcvFileStart", { .rcvFileStart($0) }),
            ("rcvFileComplete", { .rcvFileComplete($0) }),
            ("rcvFileSndCancelled", { .rcvFileSndCancelled($0) }),
            ("rcvFileAcceptedSndCancelled", { .rcvFileSndCancelled($0) }),
        ]
        for (type, kind) in events {
            #expect(try Self.kind(type, Self.withItem) == kind(item))
            #expect(try Self.kind(type, Self.withMaybeItem, Self.received) == kind(item))
            #expect(try Self.kind(type, Self.received) == .other(type))
            #expect(try Self.kind(type) == .other(type))
        }
    }

    @Test("standalone events name the transfer's file")
    func standalone() throws {
        let item = try Self.item()
        for (number, members) in [
            (FileID(5), [Self.received]), (FileID(5), [Self.received, Self.withItem]),
            (FileID(7), [Self.withItem]),
        ] {
            let fields = members.joined(separator: ",")
            let found = members.contains(Self.withItem) ? item : nil
            #expect(
                try Self.kind("rcvFileProgressXFTP", fields, #""receivedSize":3,"totalSize":8"#)
                    == .rcvFileProgressXFTP(number, found, received: 3, total: 8))
            #expect(
                try Self.kind("rcvFileProgressXFTP", fields)
                    == .rcvFileProgressXFTP(number, found, received: 0, total: 1))
            #expect(try Self.kind("rcvFileCancelled", fields) == .rcvFileCancelled(number, found))
            #expect(try Self.kind("rcvFileError", fields) == .rcvFileError(number, found, APIError(path: [])))
            let reason = #""agentError":{"type":"XFTP","xftpErr":{"type":"AUTH"}}"#
            #expect(
                try Self.kind("rcvFileWarning", fields, reason)
                    == .rcvFileWarning(number, found, APIError(path: ["XFTP", "AUTH"])))
            #expect(
                try Self.kind("rcvStandaloneFileComplete", fields, #""targetPath":"/x""#)
                    == .rcvStandaloneFileComplete(number, path: "/x"))
        }
        #expect(
            try Self.kind("rcvStandaloneFileComplete", Self.received)
                == .rcvStandaloneFileComplete(FileID(5), path: ""))
    }

    @Test("sending events need an item or file")
    func sending() throws {
        let item = try Self.item()
        for (type, kind) in [
            ("sndFileStart", { .sndFileStart($0) }), ("sndFileComplete", { .sndFileComplete($0) }),
            ("sndFileRcvCancelled", { .sndFileRcvCancelled($0) }),
            ("sndFileCompleteXFTP", { .sndFileCompleteXFTP(FileID(7), $0) }),
        ] as [(String, (APIItem) -> APIEvent.Kind)] {
            #expect(try Self.kind(type, Self.withItem) == kind(item))
            #expect(try Self.kind(type, Self.sent) == .other(type))
        }
        #expect(
            try Self.kind("sndFileProgressXFTP", Self.sent, #""sentSize":3,"totalSize":8"#)
                == .sndFileProgressXFTP(FileID(6), nil, sent: 3, total: 8))
        #expect(
            try Self.kind("sndFileCancelled", Self.sent, Self.withMaybeItem)
                == .sndFileCancelled(FileID(6), item))
        #expect(
            try Self.kind("sndFileRedirectStartXFTP", Self.sent, #""redirectMeta":{"fileId":8}"#)
                == .sndFileRedirectStartXFTP(FileID(6), redirect: FileID(8)))
        #expect(try Self.kind("sndFileRedirectStartXFTP", Self.sent) == .other("sndFileRedirectStartXFTP"))
        #expect(
            try Self.kind("sndStandaloneFileComplete", Self.sent, #""rcvURIs":["a",7,"b"]"#)
                == .sndStandaloneFileComplete(FileID(6), links: ["a", "b"]))
        #expect(
            try Self.kind("sndStandaloneFileComplete", Self.sent)
                == .sndStandaloneFileComplete(FileID(6), links: []))
        let notSent = "The SimpleX core could not send this file."
        for (words, kind, sentence) in [
            ("", FileProblem.Kind.other, notSent),
            (#","errorMessage":"no QUOTA""#, .relayFull, notSent),
            (
                #","errorMessage":"No space left on device""#, .noSpace,
                "SimpleX has no space left to store this file."
            ),
        ] {
            guard
                case .sndFileError(FileID(6), nil, let problem) = try Self.kind(
                    "sndFileError", Self.sent + words)
            else {
                Issue.record("another event")
                continue
            }
            #expect(problem.kind == kind && problem.sentence == sentence)
        }
        guard
            case .sndFileWarning(FileID(6), item, _) = try Self.kind(
                "sndFileWarning", Self.sent, Self.withItem)
        else {
            Issue.record("another event")
            return
        }
    }

    @Test("a description needs item and text")
    func descriptions() throws {
        let text = #""rcvFileDescr":{"fileDescrText":"chunk","fileDescrComplete":true}"#
        guard
            case .rcvFileDescrReady(let item, let description) = try Self.kind(
                "rcvFileDescrReady", Self.withItem, text)
        else {
            Issue.record("another event")
            return
        }
        #expect(item.id == ItemID(9) && description.text == "chunk" && description.isComplete)
        #expect(
            "\(description)" == "APIFileDescription(…)" && !String(reflecting: description).contains("chunk"))
        #expect(Mirror(reflecting: description).children.isEmpty)
        for members in [
            [Self.withItem], [Self.received, text],
            [Self.withItem, #""rcvFileDescr":{"fileDescrComplete":true}"#],
        ] {
            #expect(
                try Self.kind("rcvFileDescrReady", members.joined(separator: ","))
                    == .other("rcvFileDescrReady"))
        }
    }

    @Test("lists omit unknown entries")
    func lists() throws {
        let strange = [
            #"{"chatInfo":{"type":"contactRequest"},"chatItem":{}}"#, "7", "null",
            #"{"chatItem":{"meta":{"itemId":0}}}"#,
        ]
        let items =
            (strange + [Self.pair] + strange + [Self.pair.replacing(#""itemId":9"#, with: #""itemId":10"#)])
            .joined(separator: ",")
        guard case .newChatItems(let found) = try Self.kind("newChatItems", #""chatItems":[\#(items)]"#)
        else {
            Issue.record("another event")
            return
        }
        #expect(found.map(\.id) == [ItemID(9), ItemID(10)])
        #expect(try Self.kind("newChatItems") == .newChatItems([]))
        #expect(
            try Self.kind("groupChatItemsDeleted", #""groupInfo":{"groupId":3},"chatItemIDs":[5,"x",6]"#)
                == .groupChatItemsDeleted(group: 3, [ItemID(5), ItemID(6)]))
        #expect(
            try Self.kind("chatErrors", #""chatErrors":[{"type":"error"},"x"]"#)
                == .errors([APIError(path: ["error"]), APIError(path: ["x"])]))
        #expect(try Self.kind("chatErrors") == .errors([]))
        #expect(try Self.kind("chatError") == .other("chatError"))
    }

    @Test("deletions have their reason")
    func deletions() throws {
        func reasons(_ stubs: [String?], timed: String) throws -> [DeletionReason] {
            let deletions = stubs.map { stub in
                let left = stub.map {
                    #","toChatItem":"#
                        + Self.pair.replacing(
                            #""itemTs""#, with: #""itemDeleted":{"type":"\#($0)"},"itemTs""#)
                }
                return #"{"deletedChatItem":\#(Self.pair)\#(left ?? "")}"#
            }
            guard
                case .chatItemsDeleted(let found) = try Self.kind(
                    "chatItemsDeleted", #""chatItemDeletions":[\#(deletions.joined(separator: ","))]"#, timed)
            else { return [] }
            return found.map(\.reason)
        }
        let stubs: [String?] = ["moderated", "blockedByAdmin", "deleted", "blocked", "ofLater", nil]
        #expect(
            try reasons(stubs, timed: #""timed":false"#) == [
                .moderated, .moderated, .deleted, .deleted, .deleted, .deleted,
            ])
        #expect(
            try reasons(stubs, timed: #""byUser":true"#) == [
                .moderated, .moderated, .deleted, .deleted, .deleted, .deleted,
            ])
        #expect(try reasons(stubs, timed: #""timed":true"#) == Array(repeating: .disappeared, count: 6))
    }

    @Test("an event names its user")
    func users() throws {
        let event = { (json: String) in APIFrame(Array(#"{"resp":\#(json)}"#.utf8))?.event }
        #expect(event(#"{"type":"newChatItems","user":{"userId":2}}"#)?.userID == 2)
        #expect(event(#"{"type":"newChatItems","user":null}"#)?.userID == nil)
        #expect(event(#"{"user":{"userId":3}}"#)?.kind == .other(""))
        #expect(event(#"{"type":"chatCmdError"}"#)?.kind == .errors([APIError(path: [])]))
    }

    @Test("incomplete items are ignored")
    func items() throws {
        func item(_ old: String, _ new: String) -> APIItem? {
            JSONValue.parse(Array(Self.pair.replacing(old, with: new).utf8)).flatMap(APIItem.init(pair:))
        }
        #expect(item("x", "x") != nil)
        for (old, new) in [
            (#""itemId":9"#, #""itemId":0"#), (#""itemId":9"#, #""itemId":-9"#),
            (#""itemId":9"#, #""itemId":"9""#),
            (#""meta""#, #""mete""#), (#""contactId":4"#, #""contactId":0"#),
            (#""type":"direct""#, #""type":"contactConnection""#),
        ] { #expect(item(old, new) == nil, "\(new)") }
        #expect(item(#""fileId":7"#, #""fileId":0"#)?.file == nil)
        #expect(item(#""fileSize":1"#, #""fileSize":-1"#)?.file == nil)
        #expect(item(#""fileSize":1"#, #""fileSize":0"#)?.file?.size == 0)
        #expect(item(#""itemTs":"2026-11-20T08:29:55Z""#, #""itemTs":"yesterday""#)?.time.seconds == 0)
        #expect(item(#""type":"directRcv""#, #""type":"directSnd""#)?.sender == nil)
        #expect(item(#""chatDir""#, #""dir""#)?.direction == .received)
    }
}
