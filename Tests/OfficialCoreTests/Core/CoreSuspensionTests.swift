import Base
import ChatCore
import ScriptedCore
import Testing

@testable import OfficialCore

@Suite("Suspended core")
struct CoreSuspensionTests {
    /// A core that confirms its suspension and has a receivable file.
    private func stage() throws -> Stage {
        let stage = try Stage { state in
            state.history.append(ScriptedMessage(id: 1, chat: "@1", isSent: false, name: "film.mp4"))
        }
        stage.after("/_app suspend") { [simplex = stage.simplex] in
            simplex.tell(#"{"type":"chatSuspended"}"#)
        }
        return stage
    }

    private let film = FileID(ScriptedMessage(id: 1, chat: "@1", name: "").fileID)

    private func isKnown(_ core: OfficialCore) async throws {
        #expect(try await eventually { try await core.item(of: film) != nil })
    }

    @Test("network commands wait until the core resumes")
    func commandsWait() async throws {
        let stage = try stage()
        let core = try await stage.open(.program)
        try await isKnown(core)
        await core.suspend()
        #expect(stage.simplex.count("/_app suspend 2000000") == 1)
        let receiving = Task { try await core.receiveFile(film, approvedRelays: true) }
        let sending = Task { [message = try stage.compose("a.txt", id: "1")] in
            try await core.send(message, to: .direct(1))
        }
        try await core.renameChat(.direct(1), to: "Bobby")
        #expect(stage.simplex.count("/_set alias") == 1)
        #expect(stage.simplex.count("/freceive") + stage.simplex.count("/_send") == 0)

        await core.resume()
        try await receiving.value
        _ = try await sending.value
        let commands = stage.simplex.commands
        let activated = try #require(commands.firstIndex(of: "/_app activate"))
        #expect(try #require(commands.firstIndex { $0.hasPrefix("/freceive") }) > activated)
        #expect(try #require(commands.firstIndex { $0.hasPrefix("/_send") }) > activated)
        await core.shutDown()
    }

    @Test("a current send ends before the suspension")
    func sendsEndFirst() async throws {
        let stage = try stage()
        let core = try await stage.open(.library)
        let begun = AsyncSemaphore(0)
        let mayEnd = AsyncSemaphore(0)
        stage.after("/_send") {
            begun.release()
            _ = await mayEnd.acquire()
        }
        let sending = Task { [message = try stage.compose("a.txt", id: "1")] in
            try await core.send(message, to: .direct(1))
        }
        _ = await begun.acquire()
        let suspending = Task { await core.suspend() }
        for _ in 0..<100 { await Task.yield() }
        #expect(stage.simplex.count("/_app suspend") == 0)
        mayEnd.release()
        _ = try await sending.value
        await suspending.value
        #expect(stage.simplex.count("/_app suspend") == 1)
        await core.shutDown()
    }

    @Test("a reconnected core gets the current state")
    func connectionsBreak() async throws {
        let stage = try stage()
        let core = try await stage.open(.program)
        await core.suspend()
        stage.transport.disconnect()
        stage.transport.connect()
        #expect(await eventually { stage.simplex.count("/_app suspend") == 2 })

        stage.simplex.change { _ = $0.breaking.insert("/_app activate") }
        await core.resume()
        #expect(await eventually { stage.simplex.count("/_app activate") >= 2 })
        try await isKnown(core)
        try await core.receiveFile(film, approvedRelays: true)
        await core.shutDown()
    }

    @Test("an active core needs no activation")
    func nothingToTell() async throws {
        let stage = try stage()
        let core = try await stage.open(.program)
        stage.transport.disconnect()
        stage.transport.connect()
        try await isKnown(core)
        await core.resume()
        try await core.receiveFile(film, approvedRelays: true)
        await core.shutDown()
        #expect(stage.simplex.count("/_app") == 0)
    }

    @Test("an attached program is not suspended")
    func attached() async throws {
        let stage = try stage()
        let core = try await stage.open(.attached)
        try await isKnown(core)
        await core.suspend()
        try await core.receiveFile(film, approvedRelays: true)
        await core.resume()
        await core.shutDown()
        #expect(stage.simplex.count("/_app") == 0)
    }

    @Test("a missing confirmation does not block")
    func deaf() async throws {
        let stage = try stage()
        stage.simplex.change { state in
            state.refusals["/_app suspend"] =
                #"{"type":"error","errorType":{"type":"commandError","message":"?"}}"#
        }
        let core = try await stage.open(.program)
        try await isKnown(core)
        await core.suspend()
        let receiving = Task { try await core.receiveFile(film, approvedRelays: true) }
        stage.simplex.change { $0.silent.insert("/freceive") }
        await core.shutDown()
        await #expect(throws: ChatError.self) { try await receiving.value }
    }
}
