import Base
import JSON
import Testing

@testable import ScriptedCore

@Suite("Messages of the scripted core")
struct MessageTests {
    private func json(_ message: ScriptedMessage) throws -> JSONValue {
        try #require(JSONValue.parse(Array(message.json.utf8)))
    }

    @Test(
        "chat and direction decide the author",
        arguments: [
            ("@1", false, "directRcv"), ("@1", true, "directSnd"), ("#3", false, "groupRcv"),
            ("#3", true, "groupSnd"),
            ("#3(_support:9)", false, "groupRcv"), ("*1", true, "localSnd"), ("*1", false, "localRcv"),
        ])
    func directions(chat: String, isSent: Bool, type: String) throws {
        let item = try json(ScriptedMessage(id: 4, chat: chat, isSent: isSent, name: "a.txt"))
        #expect(item["chatDir"]?.type == type)
        #expect((item["chatDir"]?["groupMember"] != nil) == (type == "groupRcv"))
        #expect(item["meta"]?["itemId"]?.integer == 4 && item["file"]?["fileId"]?.integer == 1004)
    }

    @Test("only files have a path and a key")
    func files() throws {
        var message = ScriptedMessage(id: 1, contact: 1, name: #"a "b".txt"#, size: 77)
        var file = try json(message)["file"]
        #expect(file?["fileName"]?.string == #"a "b".txt"# && file?["fileSize"]?.integer == 77)
        #expect(file?["fileSource"] == nil && file?["fileStatus"]?.type == "rcvInvitation")
        message.path = #"x/\"y"#
        file = try json(message)["file"]
        #expect(file?["fileSource"]?["filePath"]?.string == #"x/\"y"#)
        #expect(file?["fileSource"]?["cryptoArgs"] == nil)
        message.cryptoArguments = #"{"fileKey":"k","fileNonce":"n"}"#
        #expect(try json(message)["file"]?["fileSource"]?["cryptoArgs"]?["fileKey"]?.string == "k")
        message.text = "hello"
        #expect(try json(message)["file"] == nil)
        #expect(try json(message)["content"]?["msgContent"]?["text"]?.string == "hello")
    }

    @Test(
        "times follow numbers unless a test sets one"
    )
    func times() throws {
        let times = [0, 1, 59, 60, 3599, 3600, 86_399, 86_400, 28 * 86_400].map {
            ScriptedMessage.time(of: $0)
        }
        #expect(times == times.sorted() && Set(times).count == times.count)
        #expect(times[0] == "2026-01-01T00:00:00.5Z" && times[8] == "2026-02-01T00:00:00.5Z")
        var message = ScriptedMessage(id: 1, contact: 1, name: "a")
        message.time = 1_800_000_000
        #expect(try json(message)["meta"]?["itemTs"]?.string == "2027-01-15T08:00:00Z")
    }

    @Test("pictures have a preview, disappearing ones an end, stubs a reason")
    func kinds() throws {
        var message = ScriptedMessage(id: 1, contact: 1, name: "a")
        let plain = try json(message)
        #expect(plain["content"]?["msgContent"]?["image"] == nil)
        #expect(plain["meta"]?["itemTimed"] == nil && plain["meta"]?["itemDeleted"] == nil)
        (message.type, message.preview) = ("image", "data:image/jpg;base64,AA")
        message.disappears = true
        message.deletion = "moderated"
        let item = try json(message)
        #expect(item["content"]?["msgContent"]?["image"]?.string == "data:image/jpg;base64,AA")
        #expect(item["meta"]?["itemTimed"]?["ttl"]?.integer == 60)
        #expect(item["meta"]?["itemDeleted"]?.type == "moderated")
    }

    @Test("a chat has its newest message's time")
    func chats() throws {
        let core = ScriptedSimpleX()
        core.change { state in
            state.groups = [3: "club"]
            for (id, chat) in [(61, "@1"), (120, "#3(_support:9)"), (60, "#3(_support)")] {
                state.history.append(ScriptedMessage(id: Int64(id), chat: chat, name: "f"))
            }
        }
        func info(_ chat: String) throws -> JSONValue? {
            try core.response("/_get chat \(chat) count=1")["chat"]?["chatInfo"]
        }
        #expect(try info("@1")?["contact"]?["chatTs"]?.string == "2026-01-01T00:01:01.5Z")
        #expect(try info("#3")?["groupChatScope"] == nil)
        #expect(try info("#3(_support)")?["groupChatScope"]?.type == "memberSupport")
        #expect(try info("#3(_support)")?["groupChatScope"]?["groupMemberId_"] == nil)
        #expect(try info("#3(_support:9)")?["groupChatScope"]?["groupMemberId_"]?.integer == 9)
        #expect(try info("*1")?["noteFolder"]?["noteFolderId"]?.integer == 1)
    }

    @Test("sent messages have a file or a text")
    func sent() throws {
        let core = ScriptedSimpleX()
        let file = try core.response(#"/_send @1 json [{"fileSource":{"filePath":"/out/message-a/b.txt"}}]"#)
        let item = file["chatItems"]?.elements.first?["chatItem"]
        #expect(item?["file"]?["fileName"]?.string == "b.txt")
        #expect(item?["file"]?["fileStatus"]?.type == "sndStored" && item?["chatDir"]?.type == "directSnd")
        let text = try core.response(#"/_send @1 json [{"msgContent":{"type":"text","text":"a \"b\" c"}}]"#)
        let words = text["chatItems"]?.elements.first?["chatItem"]
        #expect(words?["file"] == nil && words?["content"]?["msgContent"]?["text"]?.string == #"a "b" c"#)
        #expect(core.change { $0.history.messages(of: "@1").map(\.id) } == [1, 2])
        #expect(core.change { $0.history.counts(from: 0) }["@1"] == 1)
    }

    @Test("deletion events name reason and stub")
    func gone() throws {
        let core = ScriptedSimpleX()
        let told = ToldEvents()
        core.connect(tells: { told.note($0) }, breaks: {})
        for id in 1...3 as ClosedRange<Int64> {
            core.change { $0.history.append(ScriptedMessage(id: id, contact: 1, name: "f")) }
        }
        core.tellGone(1, timed: true)
        core.tellGone(2, stub: "moderated")
        core.tellGone(9)
        core.complete(9, path: "x", cryptoArguments: nil)
        let events = told.all.compactMap { JSONValue.parse(Array($0.utf8)) }
        #expect(events.count == 2 && events.allSatisfy { $0.type == "chatItemsDeleted" })
        #expect(events.first?["timed"]?.bool == true && events.last?["timed"]?.bool == false)
        let stub = events.last?["chatItemDeletions"]?.elements.first?["toChatItem"]
        #expect(stub?["chatItem"]?["meta"]?["itemDeleted"]?.type == "moderated")
        #expect(events.first?["chatItemDeletions"]?.elements.first?["toChatItem"] == nil)
        #expect(core.change { $0.history.all.map(\.id) } == [3])
    }
}
