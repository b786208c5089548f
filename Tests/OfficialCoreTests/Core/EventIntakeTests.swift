import ChatCore
import JSON
import ScriptedCore
import TestSupport
import Testing

@testable import OfficialCore

/// Feeds single events as JSON and compares the index and the reported events.
@Suite("Event intake")
struct EventIntakeTests {
    private let place: IndexPlace

    init() throws { place = try IndexPlace() }

    private static let item = ScriptedMessage(id: 7, contact: 1, name: "film.mp4")
    private static let file = #","rcvFileTransfer":{"fileId":1007}"#
    private static let meta = #","fileTransferMeta":{"fileId":1007}"#

    private static func message(
        _ status: String, isSent: Bool = false, _ change: (inout ScriptedMessage) -> Void = { _ in }
    )
        -> ScriptedMessage
    {
        var message = ScriptedMessage(id: 7, chat: "@1", isSent: isSent, name: "film.mp4")
        message.status = #"{"type":"\#(status)"}"#
        change(&message)
        return message
    }

    private func known(_ message: ScriptedMessage = item) async throws {
        _ = try place.take("newChatItems", [message])
        _ = await place.told()
    }

    private func status() throws -> FileStatus? { try place.item(7)?.file?.status }

    @Test(
        "a transfer step stores its item's state",
        arguments: [
            ("rcvFileAccepted", "rcvAccepted", false, FileStatus.rcvAccepted),
            ("rcvFileStart", "rcvTransfer", false, .rcvTransfer(received: 0, total: 1)),
            ("rcvFileComplete", "rcvComplete", false, .rcvComplete),
            ("rcvFileSndCancelled", "rcvCancelled", false, .rcvCancelled),
            ("sndFileStart", "sndTransfer", true, .sndTransfer(sent: 0, total: 1)),
            ("sndFileComplete", "sndComplete", true, .sndComplete),
            ("sndFileRcvCancelled", "sndCancelled", true, .sndCancelled),
            ("sndFileCompleteXFTP", "sndComplete", true, .sndComplete),
        ])
    func steps(event: String, state: String, isSent: Bool, status expected: FileStatus) async throws {
        try await known(Self.message(isSent ? "sndStored" : "rcvInvitation", isSent: isSent))
        let wanted = try place.take(
            event, Self.message(state, isSent: isSent), isSent ? Self.meta : Self.file)
        #expect(wanted.isEmpty)
        #expect(try status() == expected)
        #expect(await place.told() == [event.replacing("XFTP", with: "")])
        #expect(place.recent.contains(ItemID(7), since: place.began))
    }

    @Test(
        "a step of an unknown item adds it",
        arguments: ["rcvFileStart", "sndFileCompleteXFTP", "chatItemUpdated"])
    func unknown(event: String) async throws {
        _ = try place.take(event, Self.message("rcvAccepted"), Self.file + Self.meta)
        #expect(await place.told() == ["newChatItems"])
        #expect(try status() == .rcvAccepted)
    }

    @Test(
        "failures keep their reason",
        arguments: [
            (
                "rcvFileError", #","agentError":{"type":"XFTP","xftpErr":{"type":"AUTH"}}"#,
                FileProblem.Kind.expired
            ),
            ("rcvFileWarning", #","agentError":{"type":"XFTP","xftpErr":{"type":"TIMEOUT"}}"#, .timedOut),
            ("rcvFileError", "", .other), ("sndFileError", #","errorMessage":"QUOTA it is""#, .relayFull),
            ("sndFileWarning", #","errorMessage":"NETWORK""#, .unreachable),
        ])
    func failures(event: String, more: String, kind: FileProblem.Kind) async throws {
        let fields = Self.file + Self.meta + more
        _ = try place.take(event, Self.item, fields)
        #expect(await place.told().isEmpty, "nobody knows the file")
        try await known()
        _ = try place.take(event, Self.item, fields)
        #expect(await place.told() == [event])
        let problem: FileProblem? =
            switch try status() {
            case .rcvError(let problem), .rcvWarning(let problem), .sndError(let problem),
                .sndWarning(let problem):
                problem
            default: nil
            }
        #expect(problem?.kind == kind && problem?.sentence.hasSuffix(".") == true)
        #expect(place.recent.contains(ItemID(7), since: place.began))
    }

    @Test("progress is stored and reported in bytes")
    func progress() async throws {
        try await known(Self.message("rcvAccepted"))
        let sizes = #","receivedSize":5,"totalSize":9"#
        _ = try place.take("rcvFileProgressXFTP", Self.item, Self.file + sizes)
        #expect(try status() == .rcvTransfer(received: 5, total: 9))
        _ = try place.take("rcvFileProgressXFTP", Self.item, Self.file + #","receivedSize":-5"#)
        #expect(try status() == .rcvTransfer(received: 0, total: 1))
        #expect(await place.told() == ["rcvFileStart", "fileProgress", "fileProgress"])
    }

    @Test func uploadProgressStartsUpload() async throws {
        try await known(Self.message("sndStored", isSent: true))
        let sizes = #","sentSize":6,"totalSize":8"#
        _ = try place.take("sndFileProgressXFTP", Self.item, Self.meta + sizes)
        #expect(try status() == .sndTransfer(sent: 6, total: 8))
        #expect(await place.told() == ["sndFileStart", "fileProgress"])
    }

    @Test(arguments: ["rcvInvitation", "rcvCancelled", "rcvComplete", "sndCancelled", "sndComplete"])
    func progressRevivesNoEndedTransfer(state: String) async throws {
        let isSent = state.hasPrefix("snd")
        try await known(Self.message(state, isSent: isSent))
        let before = try status()
        let sizes = isSent ? #","sentSize":6,"totalSize":8"# : #","receivedSize":6,"totalSize":8"#
        _ = try place.take(
            isSent ? "sndFileProgressXFTP" : "rcvFileProgressXFTP", Self.item,
            (isSent ? Self.meta : Self.file) + sizes)
        #expect(try status() == before)
        #expect(await place.told().isEmpty)
    }

    @Test("only a complete description counts")
    func descriptions() async throws {
        try await known()
        let part = #","rcvFileDescr":{"fileDescrText":"chunk","fileDescrComplete":false}"#
        _ = try place.take("rcvFileDescrReady", Self.item, part)
        #expect(await place.told().isEmpty)
        #expect(try status() == .rcvInvitation(described: false))
        _ = try place.take(
            "rcvFileDescrReady", Self.item,
            #","rcvFileDescr":{"fileDescrText":"chunkSize: 1","fileDescrComplete":true}"#)
        #expect(await place.told() == ["rcvFileDescrReady"])
        #expect(try status() == .rcvInvitation(described: true))
        #expect(try await place.descriptions.description(of: FileID(1007), in: ItemID(7)) == "chunkSize: 1")
        // A later event without description does not change this.
        _ = try place.take("chatItemUpdated", Self.item, "")
        #expect(try status() == .rcvInvitation(described: true))
        _ = try place.take("rcvFileComplete", Self.message("rcvComplete"), Self.file)
        // From here the description comes from the database, which has none.
        #expect(try await place.descriptions.description(of: FileID(1007), in: ItemID(7)) == nil)
    }

    @Test("kind, size and direction decide about automatic reception")
    func arrivals() async throws {
        var messages: [ScriptedMessage] = []
        for (id, type, size, isSent) in [
            (1, "image", 522_240, false), (2, "image", 522_241, false), (3, "file", 1, false),
            (4, "image", 1, true),
            (5, "image", 0, false),
        ] as [(Int64, String, Int64, Bool)] {
            var message = ScriptedMessage(id: id, chat: "@1", isSent: isSent, name: "\(id).jpg", size: size)
            message.type = type
            if isSent { message.status = #"{"type":"sndStored"}"# }
            messages.append(message)
        }
        var accepted = ScriptedMessage(id: 6, contact: 1, name: "6.jpg")
        (accepted.type, accepted.status) = ("image", #"{"type":"rcvAccepted"}"#)
        #expect(try place.take("newChatItems", messages + [accepted]) == [FileID(1001), FileID(1005)])
        #expect(await place.told() == ["chatUpdated"] + Array(repeating: "newChatItems", count: 6))
        // A repeated event adds nothing.
        _ = try place.take("newChatItems", messages)
        #expect(await place.told().isEmpty)
    }

    @Test("a chat can prevent automatic reception")
    func arrivalsOff() throws {
        place.arrivals.change(to: ArrivalRule.Choice(chats: [.direct(1): false]))
        var small = ScriptedMessage(id: 1, chat: "@1", isSent: false, name: "1.jpg", size: 9)
        small.type = "image"
        #expect(try place.take("newChatItems", [small]).isEmpty)
    }

    @Test("only messages with a file are items")
    func texts() async throws {
        var text = Self.item
        text.text = "hello"
        _ = try place.take("newChatItems", [text])
        #expect(await place.told() == ["chatUpdated", "textArrived"])
        #expect(try place.item(7) == nil)
        try await known()
        _ = try place.take("chatItemUpdated", text, "")
        #expect(await place.told() == ["chatItemsDeleted deleted"])
        #expect(try place.item(7) == nil)
    }

    @Test("known items report their deletion reason")
    func deletions() async throws {
        for id in Int64(1)...4 { try await known(ScriptedMessage(id: id, chat: "#3", name: "\(id)")) }
        func deletion(_ id: Int64, _ stub: String?) -> String {
            var message = ScriptedMessage(id: id, chat: "#3", name: "\(id)")
            let gone = place.simplex.pair(message)
            message.deletion = stub
            return #"{"deletedChatItem":\#(gone)"#
                + (stub == nil ? "}" : #","toChatItem":\#(place.simplex.pair(message))}"#)
        }
        let deletions = [deletion(1, "moderated"), deletion(2, nil), deletion(99, nil)].joined(separator: ",")
        _ = try place.take(
            json: #"{"type":"chatItemsDeleted","chatItemDeletions":[\#(deletions)],"timed":false}"#)
        #expect(Set(await place.told()) == ["chatItemsDeleted deleted", "chatItemsDeleted moderated"])
        _ = try place.take(
            json:
                #"{"type":"chatItemsDeleted","chatItemDeletions":[\#(deletion(3, "deleted"))],"timed":true}"#)
        #expect(await place.told() == ["chatItemsDeleted disappeared"])
        _ = try place.take(
            json: #"{"type":"groupChatItemsDeleted","groupInfo":{"groupId":3},"chatItemIDs":[4,4,1]}"#)
        #expect(await place.told() == ["chatItemsDeleted moderated", "textsGone"])
        for id in Int64(1)...4 { #expect(try place.item(id) == nil) }
        #expect(
            place.recent.contains(ItemID(99), since: place.began),
            "a page that is under way does not bring it back")
    }

    @Test func senderDeletionKeepsReceivedFile() async throws {
        var told: [String] = []
        for (id, status) in [(Int64(1), "rcvComplete"), (2, "rcvInvitation")] {
            var message = ScriptedMessage(id: id, chat: "@3", name: "\(id)")
            message.status = #"{"type":"\#(status)"}"#
            try await known(message)
            let shown = place.simplex.pair(message)
            message.deletion = "deleted"
            let deletion =
                #"{"deletedChatItem":\#(shown),"toChatItem":\#(place.simplex.pair(message))}"#
            _ = try place.take(
                json: #"{"type":"chatItemsDeleted","chatItemDeletions":[\#(deletion)],"timed":false}"#)
            told += await place.told()
        }
        #expect(told == ["chatItemUpdated", "chatItemsDeleted deleted"])
        #expect(try place.item(1)?.isDeletedBySender == true && place.item(2) == nil)
    }

    @Test(
        "a cancellation elsewhere stores its item's state")
    func cancelled() async throws {
        try await known(Self.message("rcvAccepted"))
        _ = try place.take("rcvFileCancelled", Self.message("rcvInvitation"), Self.file)
        #expect(try status() == .rcvInvitation(described: false))
        #expect(await place.told() == ["chatItemUpdated"])
        for type in ["rcvFileCancelled", "sndFileCancelled"] {
            _ = try place.take(json: #"{"type":"\#(type)"\#(Self.file)\#(Self.meta)}"#)
        }
        #expect(await place.told().isEmpty)
    }

    @Test(
        "standalone files report their progress by number"
    )
    func standalone() async throws {
        let events = [
            #"{"type":"rcvFileProgressXFTP","rcvFileTransfer":{"fileId":5},"receivedSize":1,"totalSize":2}"#,
            #"{"type":"rcvFileWarning","rcvFileTransfer":{"fileId":5}}"#,
            #"{"type":"rcvFileError","rcvFileTransfer":{"fileId":5}}"#,
            #"{"type":"rcvStandaloneFileComplete","rcvFileTransfer":{"fileId":5},"targetPath":"/x"}"#,
            #"{"type":"sndFileProgressXFTP","fileTransferMeta":{"fileId":6},"sentSize":1,"totalSize":2}"#,
            #"{"type":"sndFileRedirectStartXFTP","fileTransferMeta":{"fileId":6},"redirectMeta":{"fileId":7}}"#,
            #"{"type":"sndFileProgressXFTP","fileTransferMeta":{"fileId":7},"sentSize":1,"totalSize":2}"#,
            #"{"type":"sndFileWarning","fileTransferMeta":{"fileId":7}}"#,
            #"{"type":"sndFileError","fileTransferMeta":{"fileId":7}}"#,
            #"{"type":"sndStandaloneFileComplete","fileTransferMeta":{"fileId":7},"rcvURIs":["a","b"]}"#,
        ]
        for event in events { _ = try place.take(json: event) }
        #expect(
            await place.told() == [
                "standaloneFileProgress 5 1/2", "standaloneFileWarning 5", "rcvStandaloneFileError 5",
                "rcvStandaloneFileComplete 5 /x", "standaloneFileProgress 6 1/2", "standaloneFileWarning 6",
                "sndStandaloneFileError 6", "sndStandaloneFileComplete 6 a,b",
            ])
    }

    @Test("chat events add, rename and delete chats")
    func chats() async throws {
        func contact(_ name: String, _ status: String = "active") -> String {
            #"{"type":"contactUpdated","toContact":{"contactId":1,"localDisplayName":"\#(name)","contactStatus":"\#(status)","#
                + #""activeConn":{"connStatus":"ready"}}}"#
        }
        _ = try place.take(json: contact("bob"))
        _ = try place.take(json: contact("bob"))
        _ = try place.take(json: contact("Robert"))
        _ = try place.take(json: contact("Robert", "deleted"))
        #expect(await place.told() == ["chatUpdated", "chatUpdated", "chatUpdated"])
        try await known()
        _ = try place.take(json: #"{"type":"contactDeleted","contact":{"contactId":1}}"#)
        #expect(await place.told() == ["chatItemsDeleted deleted", "chatRemoved"])
        #expect(try place.item(7) == nil)
        _ = try place.take(json: #"{"type":"contactDeleted","contact":{"contactId":1}}"#)
        #expect(await place.told().isEmpty, "it was gone")
        #expect(place.recent.contains(ChatReference.direct(1), since: place.began))
    }

    @Test("requests and group invitations are reported")
    func requests() async throws {
        _ = try place.take(
            json: #"{"type":"receivedContactRequest","contactRequest":{"contactRequestId":3}}"#)
        #expect(await place.told() == ["requestsChanged"])
        let group =
            #""groupInfo":{"groupId":5,"localDisplayName":"club","membership":{"memberStatus":"invited"}}"#
        _ = try place.take(json: #"{"type":"receivedGroupInvitation","# + group + "}")
        #expect(await place.told().last == "requestsChanged")
    }

    @Test("a text is reported and not stored")
    func textWithoutFile() async throws {
        let chat = #""chatInfo":{"type":"direct","contact":{"contactId":1,"localDisplayName":"bob"}}"#
        func message(_ id: Int, _ direction: String) -> String {
            let meta =
                #""meta":{"itemId":\#(id),"itemTs":"2026-11-01T10:00:00Z","createdAt":"2026-11-01T10:00:00Z"}"#
            let content = #""content":{"type":"rcvMsgContent","msgContent":{"type":"text","text":"Hello"}}"#
            return
                #"{"type":"newChatItems","chatItems":[{\#(chat),"chatItem":{"chatDir":{"type":"\#(direction)"},\#(meta),\#(content)}}]}"#
        }
        for (id, direction) in [(8, "directRcv"), (9, "directSnd")] {
            _ = try place.take(json: message(id, direction))
        }
        let told = await place.told()
        #expect(told.filter { $0 == "textArrived" }.count == 1)
        #expect(try place.item(8) == nil)
    }

    @Test("a deleted text is reported by its number", arguments: ["false", "true"])
    func deletedText(isTimed: String) async throws {
        let deletions = [Int64(8), 9].map { id in
            var message = ScriptedMessage(id: id, chat: "@1", name: "\(id)")
            if id == 8 { message.text = "hello" }
            return #"{"deletedChatItem":\#(place.simplex.pair(message))}"#
        }.joined(separator: ",")
        _ = try place.take(
            json: #"{"type":"chatItemsDeleted","chatItemDeletions":[\#(deletions)],"timed":\#(isTimed)}"#)
        #expect(await place.goneTexts() == ["8"])
        var stub = ScriptedMessage(id: 10, chat: "@1", name: "")
        (stub.text, stub.deletion) = ("hello", "moderated")
        _ = try place.take("chatItemUpdated", stub, "")
        #expect(await place.goneTexts() == ["10"])
    }

    @Test("unrelated events change nothing")
    func others() async throws {
        try await known()
        for json in [
            #"{"type":"chatErrors","chatErrors":[{"type":"error"}]}"#,
            #"{"type":"chatError","chatError":{"type":"error"}}"#,
            #"{"type":"chatSuspended"}"#, #"{"type":"hostConnected","protocol":"smp"}"#,
            #"{"type":"newChatItems","chatItems":[]}"#,
            #"{"type":"chatItemsDeleted"}"#, #"{"type":"groupChatItemsDeleted"}"#,
            #"{"type":"rcvFileStart"}"#, "{}",
        ] { #expect(try place.take(json: json).isEmpty) }
        #expect(await place.told().isEmpty)
        #expect(try status() == .rcvInvitation(described: false))
    }
}
