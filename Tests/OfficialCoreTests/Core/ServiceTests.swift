import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import OfficialCore

/// Tests of the official core's services, each alone.
@Suite struct RecentEventsTests {
    @Test func onlyLaterEventsOverrulePage() async throws {
        let recent = RecentEvents()
        recent.note([ItemID(1)])
        try await Task.sleep(for: .milliseconds(2))
        let asked = ContinuousClock.now
        #expect(!recent.contains(ItemID(1), since: asked))
        recent.note([ItemID(2), ItemID(3)])
        #expect(recent.contains(ItemID(2), since: asked))
        #expect(recent.contains(ItemID(3), since: asked))
        #expect(!recent.contains(ItemID(4), since: asked))
        recent.note([ItemID(1)])
        #expect(recent.contains(ItemID(1), since: asked))
    }

    /// An import removes many items within a minute. No removal that a current page may contain is forgotten,
    /// and the cleanup is not quadratic.
    @Test func recentEventsAreNotForgotten() {
        let recent = RecentEvents()
        let asked = ContinuousClock.now
        for id in Int64(1)...100_000 { recent.note([ItemID(id)]) }
        #expect((Int64(1)...100_000).allSatisfy { recent.contains(ItemID($0), since: asked) })
    }
}

@Suite struct StagingFolderTests {
    let folder: TemporaryFolder
    let staging: StagingFolder

    init() throws {
        folder = try TemporaryFolder()
        staging = try StagingFolder(folder.path("outbox"))
    }

    private func message(_ bytes: [UInt8], id: String, name: String = "a.txt") throws -> ComposedMessage {
        let path = try folder.write(bytes, to: "staged-\(id)-\(bytes.count)")
        return ComposedMessage(
            id: id, fileName: name, size: UInt64(bytes.count),
            source: FileSourceLocation(path: path, arguments: FileArguments(key: [1], nonce: [2])),
            content: MessageContent(kind: .file))
    }

    private func content(_ path: String) throws -> [UInt8] {
        try OpenFile(path, flags: O_RDONLY).readAll(limit: 1000)
    }

    @Test func fileHasVisibleAndStagedName() throws {
        let message = try message([1, 2, 3], id: "one")
        let placed = try staging.place(message, in: StagingFolder.folder(of: message))
        #expect(placed.path.hasSuffix("/a.txt"))
        #expect(placed.arguments == message.source.arguments)
        #expect(try content(placed.path) == [1, 2, 3])
        #expect(try content(message.source.path) == [1, 2, 3])
        // A second preparation works without the staged file.
        #expect(try staging.place(message, in: StagingFolder.folder(of: message)) == placed)
        unlink(message.source.path)
        #expect(try staging.place(message, in: StagingFolder.folder(of: message)) == placed)
        #expect(try content(placed.path) == [1, 2, 3])
    }

    @Test func nextAttemptReplacesFile() throws {
        let first = try message([1], id: "one")
        let folder = StagingFolder.folder(of: first)
        _ = try staging.place(first, in: folder)
        let second = try message([2, 2], id: "one")
        #expect(StagingFolder.folder(of: second) == folder, "the same for every attempt")
        #expect(try content(staging.place(second, in: folder).path) == [2, 2])
    }

    @Test func everyMessageHasOwnFolder() throws {
        let ids = ["one", "two", "../one", "one/", ""]
        let folders = try Set(ids.map { try StagingFolder.folder(of: message([1], id: "x", name: $0)) })
        #expect(folders.count == 1, "the name says nothing")
        let others = ids.map { id in
            StagingFolder.folder(
                of: ComposedMessage(
                    id: id, fileName: "a", size: 0, source: .init(path: "/", arguments: nil),
                    content: MessageContent(kind: .file)))
        }
        #expect(Set(others).count == ids.count)
        #expect(others.allSatisfy { !$0.contains("/") && !$0.contains(".") })
    }

    @Test func removalOfFolderKeepsCopies() throws {
        let message = try message([1], id: "one")
        let own = StagingFolder.folder(of: message)
        _ = try staging.place(message, in: own)
        let kept = try staging.keep(message.source, as: FileID(7))
        staging.remove(own)
        staging.remove("message-of-nobody")
        #expect(try folder.names(in: "outbox") == ["kept-7"])
        #expect(try content(kept.path) == [1])
        #expect(kept.arguments == message.source.arguments)
        #expect(access(message.source.path, F_OK) != 0, "it was moved")
    }
}

@Suite struct CoreConnectionTests {
    @Test func refusedDatabaseQueryIsNoError() async throws {
        let transport = ScriptedTransport { _ in
            #"{"type":"chatCmdError","chatError":{"type":"error","errorType":{"type":"commandError"}}}"#
        }
        let connection = CoreConnection(transport, HeldCommands())
        #expect(try await connection.numbers("SELECT 1") == nil)
        #expect(try await connection.text("SELECT 1") == nil)
        #expect(try await connection.pairs(.query("SELECT 1")).isEmpty)
        await transport.close()
    }

    @Test func permanentLossResumesWaiters() async throws {
        let connection = CoreConnection(ScriptedTransport { _ in nil }, HeldCommands())
        #expect(!connection.isConnected)
        do throws(ChatError) {
            try await connection.waitUntilConnected(timeout: .milliseconds(120))
            Issue.record("it never was connected")
        } catch {
            #expect(error.code == .file(.unreachable))
        }
        let waiting = Task { try await connection.waitUntilConnected(timeout: .seconds(60)) }
        #expect(!connection.setConnected(true), "it was not before")
        try await waiting.value
        #expect(connection.setConnected(false), "it was")
    }

    /// A foreground command precedes background commands, but delays them for a bounded time only.
    @Test func backgroundWaitsShortlyForForeground() async throws {
        let transport = ScriptedTransport { _ in nil }
        let connection = CoreConnection(transport, HeldCommands())
        // No foreground command waits.
        await connection.letOthersGoFirst()
        let asking = Task { try? await connection.ask(.user, timeout: .seconds(30)) }
        try await wait(until: "the command is under way") { !transport.commands.isEmpty }
        let second = ContinuousClock.now
        await connection.letOthersGoFirst()
        #expect(ContinuousClock.now - second >= .milliseconds(900), "it let the other go first")
        await transport.close()
        _ = await asking.value
    }
}
