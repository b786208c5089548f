import Base
import ChatCore
import Posix
import TestSupport
import Testing

@testable import Desktop

/// Files without a chat, and whole chats, through the daemon of a mount, over a real socket.
@Suite struct StandaloneTransferTests {
    let folder: TemporaryFolder
    let core = AnsweringCore()

    init() throws { folder = try TemporaryFolder() }

    private func serve() throws -> ControlServer { try ControlServer(core, in: folder.path) }

    /// Runs a transfer to its end, like `chatfs file`.
    private func transfer(
        _ request: StandaloneRequest, told: @escaping @Sendable (StandaloneState) throws -> Void = { _ in }
    ) async throws -> StandaloneState {
        try await ThreadPool.shared.run { [folder] in
            let client = try #require(try ControlClient.connect(profileFolder: folder.path))
            return try client.transfer(request, told: told)
        }
    }

    @Test func uploadReportsProgressAndItsLink() async throws {
        let server = try serve()
        defer { server.stop() }
        let seen = Lock<[UInt64]>([])
        let over = Task {
            try await transfer(.upload("/home/a/film.mp4")) { state in
                seen.withLock { if $0.last != state.done { $0.append(state.done) } }
            }
        }
        let file = try await core.begun()
        core.tell(.standaloneFileProgress(file, done: 10, total: 20))
        // An event of another transfer.
        core.tell(.sndStandaloneFileComplete(FileID(1), links: ["simplex:/other"]))
        try await wait(until: "the progress is told") { seen.withLock { $0.contains(10) } }
        core.tell(.standaloneFileWarning(file, FileProblem(.unreachable, "The relay is away.")))
        core.tell(.sndStandaloneFileComplete(file, links: ["simplex:/file#a"]))
        let state = try await over.value
        #expect(state.link == "simplex:/file#a" && state.file == file.rawValue)
        #expect(core.cancelled.withLock { $0 }.isEmpty)
    }

    @Test func hangingUpCancelsTransfer() async throws {
        let server = try serve()
        defer { server.stop() }
        let over = Task {
            try await transfer(.download("simplex:/file#a", to: "/home/a/new")) { _ in
                throw CancellationError()
            }
        }
        let file = try await core.begun()
        await #expect(throws: CancellationError.self) { try await over.value }
        try await wait(until: "it is cancelled") { core.cancelled.withLock { $0 } == [file] }
    }

    @Test func failureIsReportedWithItsSentence() async throws {
        let server = try serve()
        defer { server.stop() }
        let over = Task { try await transfer(.upload("/home/a/film.mp4")) }
        let file = try await core.begun()
        core.tell(.sndStandaloneFileError(file, FileProblem(.relayFull, "The relay is full.")))
        let error = await #expect(throws: DesktopError.self) { try await over.value }
        #expect(error?.sentence == "The relay is full.")
        let refused = await #expect(throws: DesktopError.self) { try await transfer(.upload("refused")) }
        #expect(refused?.sentence == "Only a regular file can be uploaded.")
        #expect(core.cancelled.withLock { $0 }.isEmpty)
    }

    @Test func filesOfTheMountAreRefused() async throws {
        let server = try serve()
        defer { server.stop() }
        for request in [
            StandaloneRequest.upload("/mnt/Chats/bob/a"), .download("simplex:/x", to: "/mnt/Chats/bob/b"),
        ] {
            let error = await #expect(throws: DesktopError.self) { try await transfer(request) }
            #expect(error?.sentence.contains("this mount") == true)
        }
        #expect(core.files.withLock { $0 } == 0)
    }

    @Test func unmountingCancelsTransfers() async throws {
        let server = try serve()
        let over = Task { try await transfer(.upload("/home/a/film.mp4")) }
        let file = try await core.begun()
        server.stop()
        await server.cancelTransfers()
        #expect(core.cancelled.withLock { $0 } == [file])
        await #expect(throws: DesktopError.self) { try await over.value }
    }

    @Test func uploadIsCancelledByNumber() async throws {
        let server = try serve()
        defer { server.stop() }
        let state = try await transfer(.cancel(77))
        #expect(state.isOver && core.cancelled.withLock { $0 } == [FileID(77)])
    }

    @Test func chatListsArePagedByLineLength() async throws {
        core.names.withLock { $0 = (1...450).map { "contact \($0 + 1000)" } }
        let server = try serve()
        defer { server.stop() }
        try await ThreadPool.shared.run { [folder, core] in
            let client = try #require(try ControlClient.connect(profileFolder: folder.path))
            #expect(try client.manage(ChatManagementRequest(.list, .contact)) == core.names.withLock { $0 })
            #expect(try client.manage(ChatManagementRequest(.list, .group)).isEmpty)
            _ = try client.manage(ChatManagementRequest(.rename, .contact, chat: "contact 1001", name: "new"))
            _ = try client.manage(ChatManagementRequest(.delete, .contact, chat: "contact 1002"))
            _ = try client.manage(ChatManagementRequest(.leave, .contact, chat: "contact 1003"))
            _ = try client.manage(ChatManagementRequest(.find, .contact, chat: "contact 1004"))
            #expect(core.deeds.withLock { $0 } == ["rename @1 new", "delete @2", "leave @3"])
            let error = #expect(throws: DesktopError.self) {
                try client.manage(ChatManagementRequest(.delete, .group, chat: "contact 1001"))
            }
            #expect(error?.code == .refused)
        }
    }
}
