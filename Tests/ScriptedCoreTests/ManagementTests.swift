import JSON
import TestSupport
import Testing

@testable import ScriptedCore

@Suite("Changes of chats, and files without a chat")
struct ManagementTests {
    private func core() -> ScriptedSimpleX {
        let core = ScriptedSimpleX()
        core.change { $0.groups = [3: "club"] }
        return core
    }

    @Test("aliases may have spaces and quotes")
    func aliases() throws {
        let core = core()
        let contact = try core.response(#"/_set alias @1 Bob "the" Builder"#)["toContact"]
        #expect(contact?["profile"]?["localAlias"]?.string == #"Bob "the" Builder"#)
        #expect(contact?["localDisplayName"]?.string == "bob")
        let group = try core.response("/_set alias #3 My club")["toGroup"]
        #expect(group?["localAlias"]?.string == "My club")
        #expect(group?["groupProfile"]?["displayName"]?.string == "club")
        let listed = try core.response("/_get chats 1 pcc=off")["chats"]?.elements ?? []
        #expect(
            listed.first?["chatInfo"]?["contact"]?["profile"]?["localAlias"]?.string == #"Bob "the" Builder"#)
    }

    @Test("ended contacts keep their history, deleted ones do not")
    func contacts() throws {
        let core = core()
        core.change { $0.history.append(ScriptedMessage(id: 1, contact: 1, name: "a")) }
        let ended = try core.response("/_delete @1 entity notify=on")
        #expect(ended["contact"]?["contactStatus"]?.string == "deletedByUser")
        #expect(core.change { $0.deliveries } == 1)
        #expect(try core.outcome("/_delete @1 entity notify=on") == "contactDeleted")
        #expect(core.change { $0.deliveries } == 1)
        #expect(try core.response("/_get chat @1 count=9")["chat"]?["chatItems"]?.elements.count == 1)
        #expect(try core.outcome("/_delete @1 full notify=on") == "contactDeleted")
        #expect(core.change { $0.deliveries } == 1)
        #expect(core.change { $0.contacts.isEmpty })
    }

    @Test("deleting a contact at once notifies it")
    func deletedAtOnce() throws {
        let core = core()
        #expect(try core.outcome("/_delete @1 full notify=on") == "contactDeleted")
        #expect(core.change { ($0.deliveries, $0.contacts.count) } == (1, 0))
    }

    @Test("an invitation is refused by deleting the group silently")
    func invitations() throws {
        let core = core()
        core.change { $0.invitedInto = [3] }
        #expect(try core.outcome("/_delete #3 full") == "groupDeletedUser")
        #expect(core.change { ($0.deliveries, $0.groups.count, $0.invitedInto.count) } == (0, 0, 0))
    }

    @Test("files without a chat are cancelled once")
    func standalone() throws {
        let core = core()
        let upload = try core.response("/_upload 1 /a/b")["fileTransferMeta"]?["fileId"]?.integer
        let download = try core.response("/_download 1 link /a/c")["rcvFileTransfer"]?["fileId"]?.integer
        #expect(upload == 900_001 && download == 900_002)
        #expect(core.change { $0.standalone } == [900_001, 900_002])
        for file in [900_001, 900_002] {
            #expect(try core.outcome("/fcancel \(file)") == "sndFileCancelled")
            #expect(try core.outcome("/fcancel \(file)") == "fileNotFound")
        }
        #expect(core.change { $0.standalone.isEmpty })
        #expect(try core.response("/_upload 1 /a/b")["fileTransferMeta"]?["fileId"]?.integer == 900_003)
    }

    @Test("an archive is new and names its errors")
    func archives() throws {
        let folder = try TemporaryFolder()
        let core = core()
        let path = folder.path("chats.zip")
        let command = #"/_db export {"archivePath":"\#(path)"}"#
        #expect(try core.response(command)["archiveErrors"]?.elements.count == 0)
        #expect(try folder.names() == ["chats.zip"])
        try folder.write([1, 2], to: "chats.zip")
        core.change { $0.archiveErrors = [#"{"type":"import","importError":"x"}"#] }
        #expect(try core.response(command)["archiveErrors"]?.elements.count == 1)
        #expect(try core.response(#"/_db import {"archivePath":"\#(path)"}"#).type == "archiveImported")
        #expect(
            try core.response(#"/_db export {"archivePath":"/no/such/folder/x"}"#).type == "archiveExported")
        #expect(try folder.names() == ["chats.zip"])
    }

    @Test("network settings are those of the test")
    func network() throws {
        let core = core()
        #expect(try core.response("/network")["networkConfig"]?["socksProxy"] == nil)
        core.change { state in
            state.hidesAddress = true
            state.relays = ["xftp://a@b", "xftp://c@d"]
        }
        #expect(try core.response("/network")["networkConfig"]?["socksProxy"]?.string == "127.0.0.1:9050")
        let servers = try core.response("/_servers 1")["userServers"]?.elements.first?["xftpServers"]?
            .elements
        #expect(servers?.compactMap { $0["server"]?.string } == ["xftp://a@b", "xftp://c@d"])
        #expect(servers?.allSatisfy { $0["enabled"]?.bool == true } == true)
    }
}
