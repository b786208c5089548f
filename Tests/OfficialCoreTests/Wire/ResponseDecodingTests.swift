import ChatCore
import JSON
import Testing

@testable import OfficialCore

@Suite("Response decoding")
struct ResponseDecodingTests {
    private static let contact =
        #"{"contactId":4,"localDisplayName":"bob","activeConn":{"connStatus":"ready"}}"#
    private static let group = #"{"groupId":3,"groupProfile":{"displayName":"club"}}"#
    private static let pair =
        #"{"chatInfo":{"type":"direct","contact":\#(contact)},"chatItem":{"chatDir":{"type":"directSnd"},"meta":{"itemId":9},"#
        + #""content":{"msgContent":{"type":"file"}},"file":{"fileId":7,"fileName":"a","fileSize":1}}}"#

    private static func answer(_ type: String, _ members: String = "") throws -> APIResponse {
        try VersionTests.answer(#"{"corrId":"1","resp":{"type":"\#(type)"\#(members)}}"#)
    }

    private static func item() throws -> APIItem {
        try #require(JSONValue.parse(Array(pair.utf8)).flatMap(APIItem.init(pair:)))
    }
    private static func chat(_ json: String, _ make: (JSONValue) -> APIChatInfo?) throws -> APIChatInfo {
        let chat = JSONValue.parse(Array(json.utf8)).flatMap(make)
        return try #require(chat)
    }

    @Test(
        "an incomplete answer is unknown",
        arguments: [
            "activeUser", "usersList", "versionInfo", "apiChat", "contactAliasUpdated", "groupAliasUpdated",
            "leftMemberUser",
            "contactDeleted", "groupDeletedUser", "rcvFileAccepted", "rcvFileAcceptedSndCancelled",
            "rcvFileCancelled",
            "sndFileCancelled", "sndStandaloneFileCreated", "rcvStandaloneFileCreated", "networkConfig",
            "invitation",
            "connectionPlan", "sentConfirmation", "sentInvitation", "contactAlreadyExists", "contactCode",
            "userContactLink",
            "acceptingContactRequest", "userAcceptedGroupSent", "somethingNew",
        ])
    func missing(type: String) throws {
        #expect(try Self.answer(type) == .other(type))
        #expect(
            try Self.answer(type, #","user":null,"chatItem":null,"contact":7,"connection":{}"#)
                == .other(type))
    }

    @Test("lists omit unknown entries")
    func lists() throws {
        for (type, empty) in [
            ("apiChats", APIResponse.chats([])), ("newChatItems", .newChatItems([])),
            ("chatItemsDeleted", .chatItemsDeleted([])),
            ("sQLResult", .rows([])),
            ("userServers", .relays([])), ("archiveExported", .archiveExported([])),
            ("archiveImported", .archiveImported([])),
        ] { #expect(try Self.answer(type) == empty) }
        let item = try Self.item()
        #expect(
            try Self.answer("newChatItems", #","chatItems":[7,\#(Self.pair),{}]"#) == .newChatItems([item]))
        let contact = try Self.chat(Self.contact) { APIChatInfo(contact: $0) }
        let chats =
            #","chats":[{"chatInfo":{"type":"contactRequest"}},{"chatInfo":{"type":"direct","contact":{"contactId":0}}},{"chatInfo":{"type":"direct","contact":\#(Self.contact)}},{}]"#
        #expect(try Self.answer("apiChats", chats) == .chats([contact]))
        #expect(try Self.answer("sQLResult", #","rows":["a",null,"b"]"#) == .rows(["a", "b"]))
    }

    @Test("saved notes have no unread messages")
    func notes() throws {
        let notes = try Self.chat(#"{"noteFolderId":1}"#) { APIChatInfo(notes: $0) }
        #expect(notes.chat.actions == [.upload, .sendText, .messages, .keep])
        let contact = try Self.chat(Self.contact) { APIChatInfo(contact: $0) }
        #expect(contact.chat.actions == ChatAction.allCases.filter { $0 != .free })
    }

    @Test("simple answers decode by name")
    func simple() throws {
        #expect(try Self.answer("cmdOk") == .done && Self.answer("chatStarted") == .chatStarted)
        #expect(try Self.answer("chatRunning") == .chatRunning && Self.answer("chatStopped") == .chatStopped)
        #expect(
            try Self.answer("userContactLinkCreated") == .addressCreated)
        #expect(
            try Self.answer("versionInfo", #","versionInfo":{"version":"7.0"}"#)
                == .version(APIVersion(version: "7.0")))
        #expect(
            try Self.answer("versionInfo", #","versionInfo":{}"#)
                == .version(APIVersion(version: "?")))
        #expect(
            try Self.answer("sentInvitation", #","connection":{"pccConnId":8}"#) == .connecting(.begun(8)))
    }

    @Test("answers about chats decode")
    func chats() throws {
        let contact = try Self.chat(Self.contact) { APIChatInfo(contact: $0) }
        let group = try Self.chat(Self.group) { APIChatInfo(group: $0) }
        #expect(
            try Self.answer("contactAliasUpdated", #","toContact":\#(Self.contact)"#) == .chatUpdated(contact)
        )
        #expect(try Self.answer("groupAliasUpdated", #","toGroup":\#(Self.group)"#) == .chatUpdated(group))
        #expect(try Self.answer("leftMemberUser", #","groupInfo":\#(Self.group)"#) == .chatUpdated(group))
        #expect(try Self.answer("contactDeleted", #","contact":\#(Self.contact)"#) == .chatDeleted(contact))
        #expect(try Self.answer("groupDeletedUser", #","groupInfo":\#(Self.group)"#) == .chatDeleted(group))
        #expect(
            try Self.answer("acceptingContactRequest", #","contact":\#(Self.contact)"#) == .accepting(contact)
        )
        #expect(try Self.answer("userAcceptedGroupSent", #","groupInfo":\#(Self.group)"#) == .joining(group))
        #expect(
            try Self.answer("contactAlreadyExists", #","contact":\#(Self.contact)"#)
                == .connecting(.known(contact)))
        // In an answer about group and member, the group matters.
        #expect(
            try Self.answer(
                "startedConnectionToGroup", #","contact":\#(Self.contact),"groupInfo":\#(Self.group)"#)
                == .connecting(.known(group)))
    }

    @Test("answers about files decode")
    func files() throws {
        let item = try Self.item()
        #expect(try Self.answer("rcvFileAccepted", #","chatItem":\#(Self.pair)"#) == .rcvFileAccepted(item))
        let received = #","rcvFileTransfer":{"fileId":5}"#
        let sent = #","fileTransferMeta":{"fileId":6}"#
        #expect(try Self.answer("rcvFileCancelled", received) == .rcvFileCancelled(FileID(5), nil))
        #expect(
            try Self.answer("rcvFileCancelled", received + #","chatItem_":\#(Self.pair)"#)
                == .rcvFileCancelled(FileID(5), item))
        #expect(
            try Self.answer("sndFileCancelled", sent + #","chatItem":\#(Self.pair)"#)
                == .sndFileCancelled(FileID(6), item))
        #expect(try Self.answer("sndStandaloneFileCreated", sent) == .sndStandaloneFileCreated(FileID(6)))
        #expect(try Self.answer("rcvStandaloneFileCreated", received) == .rcvStandaloneFileCreated(FileID(5)))
        #expect(
            try Self.answer("rcvFileAcceptedSndCancelled", received)
                == .rcvFileAcceptedSndCancelled(FileID(5)))
    }

    @Test("only enabled relays are configured")
    func relays() throws {
        func server(_ name: String, _ more: String) -> String { #"{"server":"\#(name)"\#(more)}"# }
        let own = [
            server("a", #","enabled":true,"deleted":false"#), server("b", #","enabled":false"#),
            server("c", #","deleted":true"#), server("d", ""), "{}",
        ]
        let servers = own.joined(separator: ",")
        let answer = try Self.answer(
            "userServers",
            #","userServers":[{"operator":null,"xftpServers":[\#(servers)]},{"operator":{"enabled":false},"xftpServers":[\#(server("x", ""))]},"#
                + #"{"operator":{"enabled":true},"xftpServers":[\#(server("e", ""))]},{}]"#)
        #expect(answer == .relays(["a", "d", "e"]))
    }

    @Test(
        "only a general proxy hides the address",
        arguments: [
            ("{}", false), (#"{"socksProxy":"127.0.0.1:9050"}"#, true),
            (#"{"socksProxy":"x","socksMode":"always"}"#, true),
            (#"{"socksProxy":"x","socksMode":"onion"}"#, false),
            (#"{"socksProxy":null,"socksMode":"always"}"#, false),
            (#"{"socksProxy":"x","socksMode":{"type":"onion"}}"#, false),
        ])
    func network(json: String, hides: Bool) throws {
        guard case .network(let settings) = try Self.answer("networkConfig", #","networkConfig":\#(json)"#)
        else {
            Issue.record("another answer")
            return
        }
        #expect(settings.hidesAddress == hides)
    }

    @Test("connection plans decode")
    func plans() throws {
        func plan(_ kind: String, _ inner: String) throws -> APIConnectionPlan.Outcome? {
            let json = #","connLink":{"connFullLink":"f"},"connectionPlan":{"type":"x","\#(kind)":\#(inner)}"#
            guard case .plan(let plan) = try Self.answer("connectionPlan", json) else { return nil }
            #expect(plan.link.full == "f" && plan.link.short == nil)
            return plan.outcome
        }
        let contact = try Self.chat(Self.contact) { APIChatInfo(contact: $0) }
        let group = try Self.chat(Self.group) { APIChatInfo(group: $0) }
        for kind in ["invitationLinkPlan", "contactAddressPlan", "groupLinkPlan"] {
            #expect(
                try plan(kind, #"{"type":"ok"}"#) == .usable && plan(kind, #"{"type":"ofLater"}"#) == .usable)
            #expect(try plan(kind, #"{"type":"ownLink"}"#) == .own)
            for type in ["known", "connecting", "connectingProhibit", "contactViaAddress"] {
                #expect(try plan(kind, #"{"type":"\#(type)"}"#) == .used(nil))
                #expect(try plan(kind, #"{"type":"\#(type)","contact":\#(Self.contact)}"#) == .used(contact))
                #expect(try plan(kind, #"{"type":"\#(type)","groupInfo_":\#(Self.group)}"#) == .used(group))
            }
        }
        #expect(try plan("unknownPlan", "{}") == .usable)
    }

    @Test(
        "addresses decode in both spellings"
    )
    func addresses() throws {
        func address(_ json: String) throws -> APIAddress? {
            guard case .address(let address) = try Self.answer("userContactLink", #","contactLink":\#(json)"#)
            else { return nil }
            return address
        }
        let link = #""connLinkContact":{"connFullLink":"f","connShortLink":"s"}"#
        let plain = try #require(try address("{\(link)}"))
        #expect(plain.link.shown == "s" && !plain.acceptsAutomatically && !plain.hasOtherSettings)
        #expect(
            try address(#"{"connReqContact":{"connFullLink":"f"},"autoAccept":{}}"#)?.acceptsAutomatically
                == true)
        #expect(try address(#"{\#(link),"addressSettings":{"autoAccept":{}}}"#)?.acceptsAutomatically == true)
        #expect(
            try address(#"{\#(link),"addressSettings":{"autoAccept":null}}"#)?.acceptsAutomatically == false)
        for more in [#""businessAddress":true"#, #""autoReply":{}"#, #""welcomeMessage":"hi""#] {
            #expect(try address(#"{\#(link),"addressSettings":{\#(more)}}"#)?.hasOtherSettings == true)
        }
        #expect(
            try address(#"{\#(link),"addressSettings":{"businessAddress":false,"autoReply":null}}"#)?
                .hasOtherSettings == false)
        #expect(try address("{}") == nil)
    }

    @Test("a security code reports both directions")
    func security() throws {
        func protection(_ connection: String) throws -> ContactProtection? {
            guard
                case .security(let security) = try Self.answer(
                    "contactCode", #","connectionCode":"12345"\#(connection)"#)
            else {
                throw ChatError(.internalError, "another answer")
            }
            #expect(security.code == "12345")
            return security.protection
        }
        #expect(try protection("") == nil)
        #expect(try protection(#","contact":{"activeConn":{}}"#) == .standard)
        #expect(try protection(#","contact":{"activeConn":{"pqSndEnabled":true}}"#) == .standard)
        #expect(
            try protection(#","contact":{"activeConn":{"pqSndEnabled":true,"pqRcvEnabled":false}}"#)
                == .standard)
        #expect(
            try protection(#","contact":{"activeConn":{"pqSndEnabled":true,"pqRcvEnabled":true}}"#)
                == .postQuantum)
    }

    @Test("archive problems have bounded texts")
    func archives() throws {
        let errors =
            #"[{"type":"fileError","file":"a.db","fileError":"busy"},{"type":"import","importError":"bad"},{"type":"x"},{},{"fileError":"\#(String(repeating: "e", count: 600))"}]"#
        guard
            case .archiveExported(let problems) = try Self.answer(
                "archiveExported", #","archiveErrors":\#(errors)"#)
        else {
            Issue.record("another answer")
            return
        }
        #expect(problems.map(\.file) == ["a.db", nil, nil, nil, nil])
        #expect(problems.prefix(4).map(\.sentence) == ["busy", "bad", "x", "no reason was given"])
        #expect(problems.last?.sentence.count == 500)
    }
}
