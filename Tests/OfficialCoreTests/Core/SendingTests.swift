import Base
import ChatCore
import Glibc
import Posix
import ScriptedCore
import Store
import Testing

@testable import OfficialCore

@Suite("Sending of files")
struct SendingTests {
    private func sent(_ stage: Stage) -> Int {
        stage.simplex.change { $0.history.all.filter(\.isSent).count }
    }

    @Test func sentFileRemainsUntilMessageDeletion() async throws {
        let stage = try Stage()
        let core = try await stage.open()
        let message = try stage.compose("report.pdf", id: "one")
        let item = try await core.send(message, to: .direct(1))
        let path = try #require(item.file?.source?.path)
        #expect(path.hasSuffix("/report.pdf") && path.hasPrefix(core.stagingFolder + "/message-"))
        #expect(access(path, F_OK) == 0 && access(message.source.path, F_OK) != 0)
        try await core.deleteItems([item.id], in: .direct(1), mode: .internal)
        #expect(access(path, F_OK) != 0)
        await #expect(throws: ChatError.self) { _ = try await core.location(of: FileID(1001)) }
        await core.shutDown()
    }

    @Test func repeatedMessageIsSameItem() async throws {
        let stage = try Stage()
        let core = try await stage.open()
        let first = try await core.send(stage.compose("a.txt", id: "one"), to: .direct(1))
        let second = try await core.send(stage.compose("a.txt", id: "one"), to: .direct(1))
        #expect(first.id == second.id && sent(stage) == 1)
        await core.shutDown()
    }

    @Test func breakAfterSendDoesNotDuplicate() async throws {
        let stage = try Stage { $0.breaking = ["/_send"] }
        let core = try await stage.open()
        let item = try await core.send(stage.compose("a.txt", id: "one"), to: .direct(1))
        #expect(item.file?.name == "a.txt" && sent(stage) == 1)
        await core.shutDown()
    }

    @Test func unknownSendIsLeftToUser() async throws {
        let stage = try Stage()
        let core = try await stage.open()
        stage.simplex.change { state in
            state.silent = ["/_send"]
        }
        let message = try stage.compose("a.txt", id: "one")
        let sending = Task { () -> ChatError? in
            do throws(ChatError) {
                _ = try await core.send(message, to: .direct(1))
                return nil
            } catch {
                return error
            }
        }
        #expect(await eventually { stage.simplex.count("/_send") == 1 })
        stage.transport.disconnect()
        stage.transport.connect()
        #expect(await sending.value?.code == .sendingUnsure)
        // Only a request by the user repeats the send.
        stage.simplex.change { $0.silent = [] }
        // The repeated file is encrypted with another key, and its path must differ from the first file's
        // path.
        unlink(message.source.path)
        var again = try stage.compose("a.txt", id: "one")
        var staged = stat()
        stat(again.source.path, &staged)
        await #expect(throws: ChatError.self) { _ = try await core.send(again, to: .direct(1)) }
        #expect(sent(stage) == 0)
        again.mayBeRepeated = true
        let item = try await core.send(again, to: .direct(1))
        #expect(sent(stage) == 1)
        var given = stat()
        #expect(stat(try #require(item.file?.source?.path), &given) == 0 && given.st_ino == staged.st_ino)
        await core.shutDown()
    }

    @Test func endedLibrarySendIsRepeated() async throws {
        let stage = try Stage { $0.silent = ["/_send"] }
        let first = try await stage.open(.library)
        let message = try stage.compose("a.txt", id: "one")
        let sending = Task { try? await first.send(message, to: .direct(1)) }
        #expect(await eventually { stage.simplex.count("/_send") == 1 })
        await first.shutDown()
        _ = await sending.value
        stage.restart()
        stage.simplex.change { $0.silent = [] }
        let second = try await stage.open(.library)
        _ = try await second.send(message, to: .direct(1))
        #expect(sent(stage) == 1)
        await second.shutDown()
    }

    @Test func sendWithoutItemIsLeftToUser() async throws {
        let stage = try Stage { $0.silent = ["/_send"] }
        let first = try await stage.open(.library)
        let message = try stage.compose("a.txt", id: "one")
        let sending = Task { try? await first.send(message, to: .direct(1)) }
        #expect(await eventually { stage.simplex.count("/_send") == 1 })
        stage.simplex.change { $0.orphans = 1 }
        await first.shutDown()
        _ = await sending.value
        stage.restart()
        stage.simplex.change { $0.silent = [] }
        let second = try await stage.open(.library)
        await #expect {
            _ = try await second.send(message, to: .direct(1))
        } throws: { ($0 as? ChatError)?.code == .sendingUnsure }
        #expect(sent(stage) == 0)
        var again = message
        again.mayBeRepeated = true
        _ = try await second.send(again, to: .direct(1))
        #expect(sent(stage) == 1)
        await second.shutDown()
    }

    @Test func unnotedSendIsFound() async throws {
        let stage = try Stage()
        let first = try await stage.open(.library)
        let message = try stage.compose("a.txt", id: "one")
        let item = try await first.send(message, to: .direct(1))
        try index(of: first).transaction { _ = try $0.execute("UPDATE send SET item = NULL") }
        await first.shutDown()
        stage.restart()
        let second = try await stage.open(.library)
        #expect(try await second.send(stage.compose("a.txt", id: "one"), to: .direct(1)).id == item.id)
        #expect(sent(stage) == 1)
        await second.shutDown()
    }

    /// The index database, outside the core.
    private func index(of core: OfficialCore) throws -> Database {
        try Database(path: core.folder + "/index.sqlite", migrations: Schema.migrations)
    }

    /// A send by a process that was killed before it stored the result, with newer messages after the send.
    private func interruptedSend(_ newer: Int, answersQuestions: Bool) async throws -> (
        Stage, ComposedMessage
    ) {
        let stage = try Stage { state in
            state.answersQuestions = answersQuestions
            for id in 1...60 {
                state.history.append(ScriptedMessage(id: Int64(id), contact: 1, name: "\(id).jpg"))
            }
        }
        let first = try await stage.open(.library)
        #expect(
            try await eventually {
                try await first.items(of: .direct(1), before: nil, count: 100).count == 60
            })
        let message = try stage.compose("a.txt", id: "one")
        _ = try await first.send(message, to: .direct(1))
        try index(of: first).transaction { _ = try $0.execute("UPDATE send SET item = NULL") }
        await first.shutDown()
        stage.restart()
        stage.simplex.change { state in
            let newest = state.history.newest
            for id in (newest + 1)...(newest + Int64(newer)) {
                state.history.append(ScriptedMessage(id: id, contact: 1, name: "\(id).jpg"))
            }
        }
        return (stage, message)
    }

    @Test(arguments: [150, 250, 1000], [true, false])
    func unnotedSendIsFoundAmongNewerMessages(newer: Int, answersQuestions: Bool) async throws {
        let (stage, message) = try await interruptedSend(newer, answersQuestions: answersQuestions)
        let core = try await stage.open(.library)
        let item = try await core.send(message, to: .direct(1))
        #expect(item.id == ItemID(61) && sent(stage) == 1)
        await core.shutDown()
    }

    @Test func searchEndsAtNewestItemBeforeSend() async throws {
        let stage = try Stage { state in
            state.answersQuestions = false
            state.history.append(
                (1...5000).map { ScriptedMessage(id: $0, contact: 1, name: "\($0).jpg") })
        }
        let first = try await stage.open(.library)
        #expect(
            try await eventually {
                try await first.items(of: .direct(1), before: nil, count: 5000).count == 5000
            })
        stage.simplex.change { $0.silent = ["/_send"] }
        let message = try stage.compose("a.txt", id: "one")
        let sending = Task { try? await first.send(message, to: .direct(1)) }
        #expect(await eventually { stage.simplex.count("/_send") == 1 })
        await first.shutDown()
        _ = await sending.value
        stage.restart()
        stage.simplex.change { $0.silent = [] }
        let second = try await stage.open(.library)
        let searched = stage.simplex.count("/_get chat @1 count=50")
        _ = try await second.send(message, to: .direct(1))
        #expect(sent(stage) == 1)
        // One page of older items ends the search.
        #expect(stage.simplex.count("/_get chat @1 count=50") <= searched + 2)
        await second.shutDown()
    }

    @Test func incompleteSearchIsLeftToUser() async throws {
        let (stage, message) = try await interruptedSend(250, answersQuestions: false)
        let gone = #"{"type":"errorStore","storeError":{"type":"chatItemNotFound"}}"#
        stage.simplex.change { $0.refusals["/_get chat @1 before="] = gone }
        let core = try await stage.open(.library)
        await #expect {
            _ = try await core.send(message, to: .direct(1))
        } throws: { ($0 as? ChatError)?.code == .sendingUnsure }
        #expect(sent(stage) == 1)
        await core.shutDown()
    }

    @Test func absentCoreGetsMessageLater() async throws {
        let stage = try Stage()
        let core = try await stage.open()
        stage.transport.disconnect()
        let message = try stage.compose("a.txt", id: "one")
        for _ in 0..<2 {
            await #expect {
                _ = try await core.send(message, to: .direct(1))
            } throws: { ($0 as? ChatError)?.code == .file(.unreachable) }
        }
        stage.transport.connect()
        _ = try await core.send(message, to: .direct(1))
        #expect(sent(stage) == 1 && stage.simplex.count("/_send") == 1)
        await core.shutDown()
    }

    @Test func coreOutagesAreReported() async throws {
        let stage = try Stage()
        let core = try await stage.open()
        var events = core.events().makeAsyncIterator()
        stage.transport.disconnect()
        stage.transport.connect()
        var told: [String] = []
        while told.count < 2, let event = await events.next() {
            if case .coreUnreachable = event { told.append("away") }
            if case .coreReachable = event { told.append("back") }
        }
        #expect(told == ["away", "back"])
        await core.shutDown()
    }

    @Test func unstoredSentItemIsFoundLater() async throws {
        let stage = try Stage()
        let core = try await stage.open()
        let message = try stage.compose("a.txt", id: "one")
        let index = try index(of: core)
        try index.transaction {
            _ = try $0.execute(
                "CREATE TRIGGER full BEFORE UPDATE OF item ON send BEGIN SELECT RAISE(ABORT, 'full'); END")
        }
        // The caller must not treat the message as refused and reuse its identifier.
        await #expect {
            _ = try await core.send(message, to: .direct(1))
        } throws: { ($0 as? ChatError)?.code == .sendingUndecided }
        // The same applies when the search finds the message.
        await #expect {
            _ = try await core.send(message, to: .direct(1))
        } throws: { ($0 as? ChatError)?.code == .sendingUndecided }
        try index.transaction { _ = try $0.execute("DROP TRIGGER full") }
        _ = try await core.send(message, to: .direct(1))
        #expect(sent(stage) == 1)
        await core.shutDown()
    }

    @Test func refusalLeavesNoFileAndHasReason() async throws {
        let stage = try Stage {
            $0.refusals["/_send"] =
                #"{"type":"error","errorType":{"type":"contactNotReady","contact":{"contactId":1}}}"#
        }
        let core = try await stage.open()
        let message = try stage.compose("a.txt", id: "one")
        await #expect {
            _ = try await core.send(message, to: .direct(1))
        } throws: { ($0 as? ChatError)?.code == .sendingRefused }
        stage.simplex.change { $0.refusals = [:] }
        _ = try await core.send(message, to: .direct(1))
        #expect(sent(stage) == 1)
        await core.shutDown()
    }

    @Test func refusedRepetitionKeepsFirstFile() async throws {
        let stage = try Stage { $0.silent = ["/_send"] }
        let core = try await stage.open(.attached)
        var message = try stage.compose("a.txt", id: "one")
        let sending = Task { [message] in try? await core.send(message, to: .direct(1)) }
        #expect(await eventually { stage.simplex.count("/_send") == 1 })
        stage.transport.disconnect()
        stage.transport.connect()
        #expect(await sending.value == nil)
        // The core processes the first attempt and refuses further ones.
        stage.simplex.change { state in
            state.silent = []
            state.refusals["/_send"] =
                #"{"type":"error","errorType":{"type":"contactNotReady","contact":{"contactId":1}}}"#
        }
        message.mayBeRepeated = true
        await #expect {
            _ = try await core.send(message, to: .direct(1))
        } throws: { ($0 as? ChatError)?.code == .sendingRefused }
        let staged = stage.settings().filesFolder + "/outbox/" + StagingFolder.folder(of: message)
        #expect(try !PrivateFolder.names(in: OpenFile(staged, flags: O_RDONLY | O_DIRECTORY)).isEmpty)
        message.mayBeRepeated = false
        await #expect {
            _ = try await core.send(message, to: .direct(1))
        } throws: { ($0 as? ChatError)?.code == .sendingUnsure }
        await core.shutDown()
    }

    @Test func notesUseTheirOwnCommand() async throws {
        let stage = try Stage()
        let core = try await stage.open()
        _ = try? await core.send(stage.compose("a.txt", id: "one"), to: .notes(1))
        #expect(stage.simplex.count("/_create *1 json ") == 1)
        await core.shutDown()
    }

    @Test(
        "a send during an outage is decided later",
        arguments: [true, false])
    func awayAfterTheBreak(isTaken: Bool) async throws {
        let stage = try Stage()
        var settings = stage.settings()
        settings.lostConnectionTimeout = .milliseconds(100)
        let core = try await OfficialCore.open(stage.transport, settings)
        let begun = AsyncSemaphore(0)
        if isTaken {
            stage.after("/_send") { [stage] in
                stage.transport.disconnect()
                begun.release()
            }
        } else {
            stage.simplex.change { $0.silent = ["/_send"] }
            stage.before("/_send") { begun.release() }
        }
        let message = try stage.compose("a.txt", id: "one")
        let sending = Task { await code(of: message, core) }
        _ = await begun.acquire()
        if !isTaken { stage.transport.disconnect() }
        #expect(await sending.value == .sendingUndecided)
        // The message was already handed over, and the core is still absent.
        #expect(await code(of: message, core) == .sendingUndecided)
        stage.after("/_send") {}
        stage.simplex.change { $0.silent = [] }
        stage.transport.connect()
        var last: ChatErrorCode?
        #expect(
            await eventually {
                last = await code(of: message, core)
                // The core returns after a delay.
                return last != .sendingUndecided
            })
        #expect(last == (isTaken ? nil : .sendingUnsure))
        #expect(sent(stage) == (isTaken ? 1 : 0) && stage.simplex.count("/_send") == 1)
        await core.shutDown()
    }

    @Test("a send without a result stays undecided")
    func questionWithoutAnswer() async throws {
        let stage = try Stage { $0.breaking = ["/_send"] }
        let core = try await stage.open()
        stage.simplex.change { state in
            state.answersQuestions = false
            state.refusals["/_get chat "] = #"{"type":"error","errorType":{"type":"exception"}}"#
        }
        let message = try stage.compose("a.txt", id: "one")
        #expect(await code(of: message, core) == .sendingUndecided)
        stage.simplex.change { $0.refusals = [:] }
        #expect(await code(of: message, core) == nil)
        #expect(sent(stage) == 1 && stage.simplex.count("/_send") == 1)
        await core.shutDown()
    }

    /// The error of the send; nil if it succeeds.
    private func code(of message: ComposedMessage, _ core: OfficialCore) async -> ChatErrorCode? {
        do throws(ChatError) {
            _ = try await core.send(message, to: .direct(1))
            return nil
        } catch {
            return error.code
        }
    }

    @Test("simultaneous sends of a message share one item")
    func twoAtATime() async throws {
        let stage = try Stage()
        let core = try await stage.open(.library)
        let begun = AsyncSemaphore(0)
        let mayEnd = AsyncSemaphore(0)
        stage.before("/_send") {
            begun.release()
            _ = await mayEnd.acquire()
        }
        let first = try stage.compose("a.txt", id: "one")
        var second = first
        second.source.path = try stage.folder.write(Array("another".utf8), to: "staged-again")
        var status = stat()
        #expect(stat(first.source.path, &status) == 0)
        let sending = Task { try await core.send(first, to: .direct(1)) }
        _ = await begun.acquire()
        let isAsked = AsyncSemaphore(0)
        let again = Task { [second] in
            isAsked.release()
            return try await core.send(second, to: .direct(1))
        }
        _ = await isAsked.acquire()
        // Enough time for a second command.
        try await Task.sleep(for: .milliseconds(200))
        for _ in 0..<2 { mayEnd.release() }
        let item = try await sending.value
        #expect(try await again.value.id == item.id)
        #expect(stage.simplex.count("/_send") == 1 && sent(stage) == 1)
        var placed = stat()
        #expect(stat(try #require(item.file?.source?.path), &placed) == 0 && placed.st_ino == status.st_ino)
        await core.shutDown()
    }
}
