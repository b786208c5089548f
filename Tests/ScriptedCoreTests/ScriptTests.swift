import Base
import JSON
import TestSupport
import Testing

@testable import ScriptedCore

/// The events in order.
final class ToldEvents: Sendable {
    private let events = Lock<[String]>([])

    func note(_ event: String) { events.withLock { $0.append(event) } }
    var all: [String] { events.withLock { $0 } }
}

/// Misbehaviour of the scripted core and effects of its commands.
@Suite struct ScriptTests {
    private static func type(_ answer: String?) -> String? {
        answer.flatMap { JSONValue.parse(Array($0.utf8)) }?.type
    }

    @Test("commands can be silent, refused or break the connection")
    func misbehaviour() {
        let core = ScriptedSimpleX()
        let breaks = Lock(0)
        core.connect(tells: { _ in }, breaks: { breaks.withLock { $0 += 1 } })
        core.change { state in
            state.silent = ["/_get chats"]
            state.refusals = ["/freceive": #"{"type":"error"}"#]
            state.breaking = ["/_send "]
        }
        #expect(core.answer("/_get chats 1") == nil)
        #expect(Self.type(core.answer("/freceive 1001")) == "chatCmdError")
        // Performed and never answered; the next command is answered.
        let command = #"/_send @1 json [{"filePath":"/a/b.txt"}]"#
        #expect(core.answer(command) == nil)
        #expect(breaks.withLock { $0 } == 1)
        #expect(core.change { $0.history.messages(of: "@1").map(\.name) } == ["b.txt"])
        #expect(Self.type(core.answer(command)) == "newChatItems")
        #expect(breaks.withLock { $0 } == 1)
        #expect(core.commands.count == 4 && core.count("/_send") == 2)
        core.restart()
        #expect(core.commands.isEmpty && core.change { $0.history.count } == 2)
    }

    @Test("receiving a file changes its message")
    func receiving() {
        let core = ScriptedSimpleX()
        let received = Lock<[Int64]>([])
        core.whenReceiving { message in received.withLock { $0.append(message.id) } }
        core.change { $0.history.append(ScriptedMessage(id: 5, contact: 1, name: "f")) }
        #expect(Self.type(core.answer("/freceive 1005")) == "rcvFileAccepted")
        #expect(Self.type(core.answer("/freceive 1006")) == "chatCmdError")
        #expect(received.withLock { $0 } == [5])
        #expect(core.change { $0.history[5]?.status } == #"{"type":"rcvAccepted"}"#)
    }

    @Test("only the named chat's messages are deleted")
    func deleting() {
        let core = ScriptedSimpleX()
        core.change { state in
            for id in 1...4 as ClosedRange<Int64> {
                state.history.append(ScriptedMessage(id: id, contact: id % 2 + 1, name: "f"))
            }
        }
        #expect(Self.type(core.answer("/_delete item @1 1,2,4,9 internal")) == "chatItemsDeleted")
        #expect(core.change { $0.history.all.map(\.id).sorted() } == [1, 3])
    }

    @Test("there is at most one address")
    func address() {
        let core = ScriptedSimpleX()
        #expect(Self.type(core.answer("/_show_address 1")) == "chatCmdError")
        #expect(Self.type(core.answer("/_address 1")) == "userContactLinkCreated")
        #expect(Self.type(core.answer("/_address 1")) == "chatCmdError")
        #expect(Self.type(core.answer("/_show_address 1")) == "userContactLink")
        #expect(Self.type(core.answer("/_delete_address 1")) == "userContactLinkDeleted")
        #expect(Self.type(core.answer("/_delete_address 1")) == "chatCmdError")
    }

    @Test("a request is answered once")
    func requests() {
        let core = ScriptedSimpleX()
        core.change { $0.requests = [3: "dan", 4: "eve"] }
        #expect(Self.type(core.answer("/_accept incognito=off 3")) == "acceptingContactRequest")
        #expect(Self.type(core.answer("/_accept incognito=off 3")) == "chatCmdError")
        #expect(Self.type(core.answer("/_reject 4")) == "contactRequestRejected")
        #expect(core.change { $0.contacts[103] } == "dan")
        #expect(core.change { $0.contacts[104] } == nil && core.change { $0.requests.isEmpty })
    }

    @Test("a member leaves a group before deleting it")
    func groups() {
        let core = ScriptedSimpleX()
        core.change { $0.groups = [3: "club"] }
        #expect(Self.type(core.answer("/_delete #3 full")) == "chatCmdError")
        #expect(Self.type(core.answer("/_leave #3")) == "leftMemberUser")
        #expect(Self.type(core.answer("/_leave #3")) == "chatCmdError")
        #expect(core.change { $0.deliveries } == 1)
        #expect(Self.type(core.answer("/_delete #3 full")) == "groupDeletedUser")
        #expect(core.change { $0.groups.isEmpty })
    }

    @Test("special characters in names stay valid JSON")
    func escaping() {
        let core = ScriptedSimpleX()
        let name = "a \"b\" \\ c\nd"
        core.change { state in
            state.contacts[1] = name
            state.history.append(ScriptedMessage(id: 1, contact: 1, name: name))
        }
        let answer = core.answer("/_get chat @1 count=1").flatMap { JSONValue.parse(Array($0.utf8)) }
        let chat = answer?["chat"]
        #expect(chat?["chatInfo"]?["contact"]?["localDisplayName"]?.string == name)
        #expect(chat?["chatItems"]?.elements.first?["file"]?["fileName"]?.string == name)
    }
}
