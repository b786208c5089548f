import Base
import JSON
import Testing

@testable import ScriptedCore

/// Answers for unknown objects would hide errors of the client.
@Suite("Unknown chats, messages and files")
struct UnknownTests {
    private static func core() -> ScriptedSimpleX {
        let core = ScriptedSimpleX()
        core.change { state in
            state.groups = [3: "club"]
            state.history.append(ScriptedMessage(id: 1, contact: 1, name: "a.txt"))
            state.history.append(ScriptedMessage(id: 2, chat: "#3", name: "b.txt"))
            state.history.append(ScriptedMessage(id: 3, chat: "#3(_support:9)", name: "c.txt"))
        }
        return core
    }

    @Test(
        "every command about a chat",
        arguments: [
            "/_get chat CHAT count=9", "/_get chat CHAT around=1 count=2", "/_get chat CHAT before=1 count=2",
            #"/_send CHAT json [{"filePath":"a.txt","msgContent":{"type":"file","text":""}}]"#,
            #"/_create CHAT json [{"filePath":"a.txt","msgContent":{"type":"file","text":""}}]"#,
            "/_delete item CHAT 1 internal", "/_set alias CHAT name", "/_leave CHAT", "/_delete CHAT full",
            "/_delete CHAT entity notify=on", "/_read chat items CHAT 1", "/_get code CHAT",
            "/_sync CHAT force=on",
        ])
    func chats(command: String) throws {
        for (chat, error) in [
            ("@2", "contactNotFound"), ("#4", "groupNotFound"), ("#4(_support)", "groupNotFound"),
            ("*2", "noteFolderNotFound"),
        ] {
            let core = Self.core()
            let before = core.change { ($0.history.changes, $0.deliveries, $0.aliases.count) }
            #expect(try core.outcome(command.replacing("CHAT", with: chat)) == error)
            let after = core.change { ($0.history.changes, $0.deliveries, $0.aliases.count) }
            #expect(before == after, "it changed something")
        }
    }

    @Test("existing chats are not refused")
    func present() throws {
        let core = Self.core()
        for (command, type) in [
            ("/_get chat @1 count=9", "apiChat"), ("/_get chat #3 count=9", "apiChat"),
            ("/_get chat #3(_support:9) count=9", "apiChat"), ("/_get chat *1 count=9", "apiChat"),
            ("/_get code @1", "contactCode"), ("/_sync @1 force=on", "contactRatchetSyncStarted"),
            ("/_set alias @1 Bobby", "contactAliasUpdated"), ("/_set alias #3 Club", "groupAliasUpdated"),
            ("/_read chat items @1 1", "cmdOk"), ("/_leave #3", "leftMemberUser"),
            ("/_delete @1 entity notify=on", "contactDeleted"),
            ("/_delete item @1 1 internal", "chatItemsDeleted"),
        ] {
            #expect(try core.outcome(command) == type)
        }
    }

    @Test("deleted contacts and groups are unknown")
    func deleted() throws {
        let core = Self.core()
        #expect(try core.outcome("/_delete @1 full notify=on") == "contactDeleted")
        #expect(try core.outcome("/_get chat @1 count=9") == "contactNotFound")
        #expect(try core.outcome("/_delete @1 full notify=on") == "contactNotFound")
        #expect(try core.outcome("/_leave #3") == "leftMemberUser")
        #expect(try core.outcome("/_delete #3 full") == "groupDeletedUser")
        #expect(try core.outcome("/_leave #3") == "groupNotFound")
        #expect(core.change { $0.absence(of: "@1") } == "contactNotFound")
    }

    @Test("a malformed chat name is no missing chat")
    func names() {
        for text in ["", "@", "@x", "7", "~1", "?3", "user"] {
            #expect(Self.core().change { $0.absence(of: text) } == nil)
        }
    }

    @Test(
        "files are received and cancelled only in fitting states",
        arguments: [
            ("rcvInvitation", "rcvFileAccepted", "rcvFileCancelled"),
            ("rcvAccepted", "fileAlreadyReceiving", "rcvFileCancelled"),
            ("rcvTransfer", "fileAlreadyReceiving", "rcvFileCancelled"),
            ("rcvWarning", "fileAlreadyReceiving", "rcvFileCancelled"),
            ("rcvAborted", "rcvFileAccepted", "rcvFileCancelled"),
            ("rcvComplete", "fileAlreadyReceiving", "fileCancel"),
            ("rcvError", "fileAlreadyReceiving", "fileCancel"),
            ("rcvCancelled", "fileCancelled", "fileCancel"),
            ("sndStored", "rcvFileNotFound", "sndFileCancelled"),
            ("sndComplete", "rcvFileNotFound", "sndFileCancelled"),
            ("sndCancelled", "rcvFileNotFound", "fileCancel"),
        ])
    func files(status: String, received: String, cancelled: String) throws {
        func core() -> ScriptedSimpleX {
            let core = ScriptedSimpleX()
            core.change { state in
                var message = ScriptedMessage(id: 1, contact: 1, name: "a.txt")
                message.isSent = status.hasPrefix("snd")
                message.status = #"{"type":"\#(status)","rcvProgress":1,"rcvTotal":2}"#
                state.history.append(message)
            }
            return core
        }
        #expect(try core().outcome("/freceive 1001 approved_relays=on encrypt=on") == received)
        let cancelling = core()
        #expect(try cancelling.outcome("/fcancel 1001") == cancelled)
        let isRefused = cancelled == "fileCancel"
        #expect(
            (cancelling.change { $0.history.changes } == 1) == isRefused,
            "only what happens changes something")
    }

    @Test("unknown files, and texts without a file")
    func unknownFiles() throws {
        let core = Self.core()
        core.change { state in
            var text = ScriptedMessage(id: 7, contact: 1, name: "")
            (text.type, text.text) = ("text", "hello")
            state.history.append(text)
        }
        let received = Lock(0)
        core.whenReceiving { _ in received.withLock { $0 += 1 } }
        for file in ["9999", "1007", "7", "x", "-1"] {
            #expect(try core.outcome("/freceive \(file)") == "userNotFoundByFileId")
        }
        #expect(try core.outcome("/fcancel 9999") == "fileNotFound")
        #expect(received.withLock { $0 } == 0)
    }
}
