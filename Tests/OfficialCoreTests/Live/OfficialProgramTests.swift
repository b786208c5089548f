import Base
import ChatCore
import Glibc
import Network
import Posix
import TestSupport
import Testing

@testable import OfficialCore

@Suite(
    "Official program", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct OfficialProgramTests {
    static func settings(_ relays: OfficialRelays, _ name: String) throws -> CoreProgramSettings {
        let home = relays.folder.path(name)
        if access(home, F_OK) != 0 { _ = try relays.folder.makeFolder(name) }
        _ = try relays.folder.makeFolder(name + "/files")
        _ = try relays.folder.makeFolder(name + "/temporary")
        var settings = CoreProgramSettings(
            database: try DatabaseFiles(prefix: home + "/db"), filesFolder: home + "/files",
            temporaryFolder: home + "/temporary")
        settings.program = OfficialPrograms.path("simplex-chat")
        settings.newProfile = name
        settings.arguments = relays.arguments
        return settings
    }

    @Test("a program starts, restarts and stops")
    func life() async throws {
        let relays = try await OfficialRelays()
        let settings = try Self.settings(relays, "alice")
        let transport = try await ProcessTransport.start(settings)
        #expect(transport.version.version.hasPrefix("6."))
        var events = transport.events().makeAsyncIterator()
        #expect(await events.next() == .connected)

        guard case .activeUser(let user) = try await transport.request(.user) else {
            Issue.record("no user")
            return
        }
        #expect(user.displayName == "alice")
        #expect(try await transport.request(.users) == .usersList([user]))
        guard case .chats(let chats) = try await transport.request(.chats(user: user.id, count: 1000)) else {
            Issue.record("no chats")
            return
        }
        let notes = try #require(chats.first { if case .notes = $0.reference.chat { true } else { false } })
        #expect(notes.sendingRefused == nil)
        #expect(try await transport.request(.relays(user: user.id)) == .relays([relays.files.address]))
        #expect(try await transport.request(.network) != .other("networkConfig"))

        // A note with an encrypted file below the core's files folder.
        let arguments = FileArguments(
            key: [UInt8](repeating: 1, count: 32), nonce: [UInt8](repeating: 2, count: 24))
        _ = try relays.folder.makeFolder("alice/files/outbox")
        let path = try relays.folder.write(
            [UInt8](repeating: 7, count: 116), to: "alice/files/outbox/a \"quoted\" name.bin")
        let message = APIComposedMessage(
            source: FileSourceLocation(path: path, arguments: arguments),
            content: MessageContent(kind: .file, text: "two\nlines, \"quoted\" \\ and 😀"))
        guard case .notes(let folder) = notes.reference.chat,
            case .newChatItems(let items) = try await transport.request(.createNotes(folder, [message])),
            let note = items.first
        else {
            Issue.record("no note")
            return
        }
        #expect(note.content == message.content)
        #expect(note.file?.status == .sndStored)
        #expect(note.file?.source?.location(filesFolder: "/none") == message.source)
        guard case .chatPage(let page) = try await transport.request(.chatPage(notes.reference, .last(10)))
        else {
            Issue.record("no page")
            return
        }
        #expect(page.items.map(\.id) == [note.id])

        // No other process can open the database.
        await #expect {
            _ = try await ProcessTransport.start(settings)
        } throws: {
            ($0 as? OfficialCoreError)?.code == .inUse
        }
        let child = try #require(settings.database.user())
        #expect(child.name == "simplex-chat")

        // The program ends, and the transport restarts it.
        kill(child.identifier, SIGKILL)
        var isBack = false
        while !isBack, let event = await events.next() {
            if case .connected = event { isBack = (try? await transport.request(.user)) != nil }
        }
        #expect(isBack)
        #expect(settings.database.user()?.identifier != child.identifier)

        await transport.close()
        #expect(settings.database.user() == nil)
        try await relays.stop()
    }

    @Test("a running program can be attached")
    func attached() async throws {
        let relays = try await OfficialRelays()
        let settings = try Self.settings(relays, "bob")
        let program = try await CoreProgram(settings)
        let endpoint = try await program.endpoint()
        let transport = try await WebSocketTransport.connect(to: endpoint)
        await #expect {
            _ = try await transport.request(
                .receiveFile(FileID(9999), approvedRelays: false, encrypted: true, path: nil))
        } throws: {
            ($0 as? OfficialCoreError)?.chatError.code == .noSuchFile
        }
        await #expect {
            _ = try await transport.request(.chatPage(APIChatReference(.direct(999)), .last(1)))
        } throws: {
            ($0 as? OfficialCoreError)?.chatError.code == .noSuchChat
        }
        let query = APICommand.query("SELECT user_id, hex(local_display_name) AS name FROM users")
        let answer = try await transport.request(query)
        #expect(answer == .rows(["user_id|name", "1|626F62"]))
        await transport.close()
        await program.stop()
        try await relays.stop()
    }

    @Test("encrypted databases and missing profiles are refused")
    func refused() async throws {
        let folder = try TemporaryFolder()
        var settings = CoreProgramSettings(
            database: try DatabaseFiles(prefix: folder.path("db")), filesFolder: folder.path,
            temporaryFolder: folder.path)
        settings.program = OfficialPrograms.path("simplex-chat")
        await #expect {
            _ = try await ProcessTransport.start(settings)
        } throws: {
            ($0 as? OfficialCoreError)?.code == .noProfile
        }
        try folder.write([UInt8](repeating: 0xA5, count: 4096), to: "db_chat.db")
        await #expect {
            _ = try await ProcessTransport.start(settings)
        } throws: {
            ($0 as? OfficialCoreError)?.code == .encryptedDatabase
        }
        settings.program = "/nonexistent/simplex-chat"
        await #expect {
            _ = try await ProcessTransport.start(settings)
        } throws: {
            ($0 as? OfficialCoreError)?.code == .notInstalled
        }
    }
}
