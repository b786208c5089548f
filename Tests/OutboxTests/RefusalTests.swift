import Base
import ChatCore
import Posix
import TestSupport
import Testing

@testable import Outbox

/// The core refuses, or the user reconsiders.
@Suite struct RefusalTests {
    @Test func temporaryCoreRefusalIsRetried() async throws {
        let bench = try Workbench()
        let refusal = ChatError(.file(.noRelay), "No relay is configured: name one with --relay.")
        bench.core.state.withLock { $0.refusals = [refusal] }
        let draft = try bench.write([1], to: "a")
        bench.beQuiet()
        try await wait(until: "the reason shows") { draft.snapshot.problem == refusal.sentence }
        #expect(draft.state == .queued)
        // Other drafts continue.
        let other = try bench.write([2], to: "b")
        bench.beQuiet()
        try await wait(until: "the other is sent") { other.state == .sent }
        #expect(bench.core.sent.map(\.bytes) == [[2]])
        try await wait(until: "it is sent too") {
            bench.clock.advance(by: .seconds(1))
            return draft.state == .sent
        }
        #expect(draft.snapshot.problem == nil)
        #expect(bench.core.sent.map(\.bytes) == [[2], [1]])
    }

    /// A failed core may have accepted the draft: another content under the same mark would never arrive.
    @Test(arguments: [ChatErrorCode.storage, .internalError])
    func possiblySentDraftIsNotChanged(code: ChatErrorCode) async throws {
        let bench = try Workbench()
        bench.core.state.withLock { $0.refusals = [ChatError(code, "The disk failed.")] }
        let draft = try bench.write([1], to: "a")
        bench.beQuiet()
        try await wait(until: "the reason shows") { draft.snapshot.problem == "The disk failed." }
        #expect(draft.state == .queued)
        #expect(fails(.notPermitted) { try draft.opened(for: .writing) })
        try await wait(until: "it is sent") {
            bench.clock.advance(by: .seconds(1))
            return draft.state == .sent
        }
        #expect(bench.core.sent.map(\.bytes) == [[1]])
    }

    /// The first attempt may have reached the core; the second fails before the core is asked.
    @Test(arguments: [ChatErrorCode.file(.timedOut), .file(.noSpace), .sendingRefused])
    func failedPreparationDoesNotChangeSentDraft(code: ChatErrorCode) async throws {
        let isUnready = Lock(false)
        let bench = try Workbench(completion: { message async throws(ChatError) in
            if isUnready.withLock({ $0 }) { throw ChatError(code, "Its metadata could not be removed.") }
            return message
        })
        bench.core.state.withLock { $0.refusals = [ChatError(.sendingUndecided, "Perhaps.")] }
        let draft = try bench.write([1], to: "photo.jpg")
        bench.beQuiet()
        try await wait(until: "the outcome is not known") { draft.snapshot.problem == "Perhaps." }
        isUnready.withLock { $0 = true }
        try await wait(until: "the next try fails") {
            bench.clock.advance(by: .seconds(1))
            return draft.snapshot.problem == "Its metadata could not be removed."
        }
        #expect(draft.state == .queued)
        #expect(fails(.notPermitted) { try draft.opened(for: .writing) })
        isUnready.withLock { $0 = false }
        try await wait(until: "it is sent") {
            bench.clock.advance(by: .seconds(1))
            return draft.state == .sent
        }
        #expect(bench.core.sent.map(\.bytes) == [[1]])
    }

    @Test func draftRefusedForItsContentMayChange() async throws {
        let bench = try Workbench()
        bench.core.state.withLock { $0.refusals = [ChatError(.file(.noRelay), "No relay.")] }
        let draft = try bench.write([1], to: "a")
        bench.beQuiet()
        try await wait(until: "the reason shows") { draft.snapshot.problem == "No relay." }
        let again = try draft.opened(for: .writing)
        try draft.write("b")
        draft.closed(again)
        bench.beQuiet()
        #expect(try await bench.messages(1).map(\.bytes) == [Array("b".utf8)])
    }

    @Test func draftWaitsForUnreachableCore() async throws {
        let bench = try Workbench()
        let refusal = ChatError(.file(.unreachable), "There is no connection to the SimpleX core.")
        bench.core.state.withLock { $0.refusals = [refusal] }
        let draft = try bench.write([1], to: "a")
        bench.beQuiet()
        try await wait(until: "the reason shows") { draft.snapshot.problem == refusal.sentence }
        // Reported before it is postponed.
        try await wait(until: "it is sent, without any time passing") {
            bench.outbox.retryPostponed()
            return draft.state == .sent
        }
        // The scheduled retry finds nothing to do.
        bench.clock.advance(by: .seconds(1000))
        try await bench.settle()
        #expect(bench.core.sent.count { $0.bytes == [1] && $0.message.fileName == "a" } == 1)
    }

    /// The next start sends it; a retry of this one would send it twice.
    @Test func shutDownOutboxDoesNotRetry() async throws {
        let bench = try Workbench()
        let refusal = ChatError(.file(.unreachable), "There is no connection.")
        bench.core.state.withLock { $0.refusals = [refusal] }
        let draft = try bench.write([1], to: "a")
        bench.beQuiet()
        try await wait(until: "the reason shows") { draft.snapshot.problem == refusal.sentence }
        await bench.outbox.shutDown()
        let deliveries = bench.outbox.context.deliveries
        // These are the steps of a retry.
        draft.tell(.backoffOver)
        deliveries.notify([alice])
        #expect(!deliveries.work.contains(alice))
        #expect(draft.state == .queued)
    }

    @Test func permanentRefusalFailsUntilTouched() async throws {
        let bench = try Workbench()
        bench.core.state.withLock {
            $0.refusals = [ChatError(.sendingRefused, "This group does not take files.")]
        }
        let draft = try bench.write([1], to: "a")
        bench.beQuiet()
        try await wait(until: "it has failed") { draft.state == .failed }
        #expect(draft.snapshot.problem == "This group does not take files.")
        bench.clock.advance(by: .seconds(1000))
        try await bench.settle()
        #expect(bench.core.sent.count == 1)
        // Present after a restart, and not sent by itself.
        let next = try CrashTests.Remains(of: bench.folder, bench.core).reopen()
        #expect(next.outbox.drafts().first { $0.id == draft.id }?.state == .failed)
        #expect(draft.snapshot.problem == "This group does not take files.")
        try draft.opened(for: .writing)
        draft.closed(for: .writing)
        bench.beQuiet()
        try await wait(until: "it is sent") { draft.state == .sent }
        #expect(bench.core.sent.last?.bytes == [1])
    }

    @Test func failedFileCanBeRewritten() async throws {
        let bench = try Workbench()
        bench.core.state.withLock { $0.refusals = [ChatError(.tooLarge, "Too large.")] }
        let draft = try bench.write([1, 2], to: "a")
        bench.beQuiet()
        try await wait(until: "it has failed") { draft.state == .failed }
        try draft.opened(for: .writing)
        try draft.truncate(to: 1)
        draft.closed(for: .writing)
        bench.beQuiet()
        #expect(try await bench.messages(1).map(\.bytes) == [[1]])
    }

    @Test func removedQueuedFileIsNotSent() async throws {
        let bench = try Workbench()
        bench.core.close()
        try bench.write([0], to: "first")
        let second = try bench.write([1], to: "second")
        bench.beQuiet()
        try await wait(until: "it is queued") { second.state == .queued }
        try bench.outbox.remove(second)
        bench.core.open()
        try await bench.settle()
        #expect(!bench.core.sent.contains { $0.bytes == [1] && $0.message.fileName == "second" })
        #expect(try bench.folder.names(in: "staging").isEmpty)
    }

    @Test func removedSendingFileIsWithdrawn() async throws {
        let bench = try Workbench()
        bench.core.close()
        let draft = try bench.write([1], to: "a")
        bench.beQuiet()
        try await wait(until: "it is being handed over") { draft.state == .sending }
        try bench.outbox.remove(draft)
        #expect(bench.outbox.drafts().isEmpty)
        bench.core.open()
        try await wait(until: "it is cancelled and deleted") {
            bench.core.state.withLock { $0.cancelled == [FileID(1)] && $0.deleted == [ItemID(1)] }
        }
        try await waitUntilForgotten(bench)
    }

    /// The core accepted it and failed before its reply: the draft is queued for a retry.
    private func takenAndNotSaid(_ bench: Workbench) async throws -> Draft {
        bench.core.state.withLock { $0.failuresAfterTaking = [ChatError(.internalError, "It broke down.")] }
        let draft = try bench.write([1], to: "a")
        bench.beQuiet()
        try await wait(until: "the reason shows") { draft.snapshot.problem == "It broke down." }
        #expect(draft.state == .queued && bench.core.sent.count == 1)
        return draft
    }

    private func waitUntilForgotten(_ bench: Workbench) async throws {
        try await wait(until: "nothing is left of it") {
            bench.clock.advance(by: .seconds(1))
            return try bench.outbox.context.journal.entries().isEmpty
        }
        #expect(try bench.folder.names(in: "outbox/spool").isEmpty)
        #expect(try bench.folder.names(in: "staging").isEmpty)
    }

    @Test func removedSentFileIsDeletedInCore() async throws {
        let bench = try Workbench()
        let draft = try await takenAndNotSaid(bench)
        try bench.outbox.remove(draft)
        #expect(bench.outbox.drafts().isEmpty)
        // At once, without any time passing.
        try await wait(until: "it is deleted") { bench.core.state.withLock { $0.deleted == [ItemID(1)] } }
        #expect(bench.core.state.withLock { $0.cancelled } == [FileID(1)])
        try await waitUntilForgotten(bench)
        // The name is free, and a new file there is independent.
        try bench.write([2], to: "a")
        bench.beQuiet()
        #expect(try await bench.messages(2).map(\.bytes) == [[1], [2]])
        #expect(bench.core.state.withLock { $0.deleted } == [ItemID(1)])
    }

    @Test func unsentFileIsNotSentForWithdrawal() async throws {
        let bench = try Workbench()
        bench.core.state.withLock { $0.refusals = [ChatError(.sendingUndecided, "Perhaps.")] }
        let draft = try bench.write([1], to: "a")
        bench.beQuiet()
        try await wait(until: "the outcome is not known") { draft.snapshot.problem == "Perhaps." }
        try bench.outbox.remove(draft)
        try await waitUntilForgotten(bench)
        #expect(bench.core.sent.isEmpty && bench.core.state.withLock { $0.attempts } == 1)
    }

    @Test func failedWithdrawalIsRetried() async throws {
        let bench = try Workbench()
        let away = ChatError(.file(.unreachable), "There is no connection to the SimpleX core.")
        let draft = try await takenAndNotSaid(bench)
        bench.core.state.withLock { state in
            state.unanswered = [away, ChatError(.sendingUndecided, "Perhaps.")]
            state.undeleted = [away, ChatError(.storage, "The disk failed.")]
        }
        try bench.outbox.remove(draft)
        try await waitUntilForgotten(bench)
        #expect(bench.core.state.withLock { $0.deleted } == [ItemID(1)])
        #expect(bench.core.state.withLock { $0.unanswered.isEmpty && $0.undeleted.isEmpty })
    }

    @Test(arguments: ["first boot", "next boot"])
    func nextProcessCompletesWithdrawal(boot: String) async throws {
        let bench = try Workbench()
        let draft = try await takenAndNotSaid(bench)
        let unanswered = [ChatError](repeating: ChatError(.sendingUndecided, "Perhaps."), count: 1000)
        bench.core.state.withLock { $0.unanswered = unanswered }
        try bench.outbox.remove(draft)
        try await wait(until: "it was asked for") { bench.core.state.withLock { $0.unanswered.count < 1000 } }
        let next = try CrashTests.Remains(of: bench.folder, bench.core).reopen(boot: boot)
        #expect(next.outbox.drafts().isEmpty && next.outbox.waiting == 0)
        try await waitUntilForgotten(next)
        #expect(next.core.state.withLock { $0.deleted } == [ItemID(1)])
        #expect(next.core.sent.count == 1)
    }

    /// For a core that does not report its items, like an unsure file.
    @Test func unknownOutcomeIsForgotten() async throws {
        let bench = try Workbench()
        let draft = try await takenAndNotSaid(bench)
        bench.core.state.withLock { $0.unanswered = [ChatError(.sendingUnsure, "Nobody knows.")] }
        try bench.outbox.remove(draft)
        try await waitUntilForgotten(bench)
        #expect(bench.core.state.withLock { $0.deleted.isEmpty })
    }

    @Test func removedOpenFileKeepsItsBytes() async throws {
        let bench = try Workbench()
        let draft = try bench.outbox.create(name: name("a"), in: alice)
        try [UInt8]([1]).withUnsafeBytes { try draft.write($0, at: 0) }
        try bench.outbox.remove(draft)
        try [UInt8]([2]).withUnsafeBytes { try draft.write($0, at: 1) }
        #expect(try bench.content(of: draft) == [1, 2])
        draft.closed(for: .writing)
        bench.beQuiet()
        try await bench.settle()
        #expect(bench.core.sent.count == 1)
    }

    @Test func renameOntoSendingFileIsRefused() async throws {
        let bench = try Workbench()
        bench.core.close()
        let first = try bench.write([1], to: "a")
        bench.beQuiet()
        try await wait(until: "it is being handed over") { first.state == .sending }
        let second = try bench.write([2], to: "b")
        #expect(fails(.notPermitted) { try bench.outbox.rename(second, to: name("a")) })
        #expect(second.snapshot.name == name("b"))
        bench.core.open()
        bench.beQuiet()
        #expect(try await bench.messages(2).map(\.message.fileName) == ["a", "b"])
    }
}
