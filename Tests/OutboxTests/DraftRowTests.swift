import Base
import ChatCore
import Testing

@testable import Outbox

/// Writes that must precede an answer, and writes that must survive a power cut. The table of states does not show
/// them.
@Suite struct DraftRowTests {
    private typealias Fixture = MachineFixture

    private func row(_ phase: String, _ event: DraftEvent) throws -> RowChange? {
        var machine = try #require(Fixture.sample(phase))
        return machine.perform(event).row
    }

    private func durable(_ phase: String) throws -> DraftMachine {
        try #require(Fixture.sample(phase)).having(.synchronised)
    }

    @Test func closeIsAnsweredAfterItsRow() throws {
        #expect(
            try row("writing", .flushed(opening: 0, .finished, sequence: 1)) == .saveIfPossible)
        #expect(try row("writing", .released(.ofItsMaker, sequence: 1)) == .saveIfPossible)
        #expect(try row("writing", .flushed(opening: 0, .killed, sequence: 1)) == .saveIfPossible)
        // The release after a flush adds nothing.
        #expect(try row("written", .released(.ofItsMaker, sequence: 1)) == nil)
        #expect(try row("written", .flushed(opening: 0, .finished, sequence: 2)) == nil)
    }

    @Test func bytesChangeAfterTheirRow() throws {
        #expect(try row("written", .writeBegins(opening: 0, thread: 1)) == .save(isDurable: false))
        let truncation = DraftEvent.truncationBegins(to: 1, opening: 0, thread: 1)
        #expect(try row("written", truncation) == .save(isDurable: false))
        #expect(try row("writing", .writeBegins(opening: 0, thread: 1)) == nil)
        // A durable row "complete" must not return over other bytes.
        var written = try durable("written")
        #expect(written.perform(.writeBegins(opening: 0, thread: 1)).row == .save(isDurable: true))
        #expect(!written.having(.wrote(size: 1, at: Fixture.time)).record.isDurable)
    }

    @Test func failedWriteLeavesNoCompleteRow() throws {
        // The row could not record the write.
        #expect(try row("written", .writeFailed(size: 10)) == .saveOrMark(isDurable: false))
        #expect(try row("writing", .writeFailed(size: 10)) == nil)
        var written = try durable("written")
        #expect(written.perform(.writeFailed(size: 10)).row == .saveOrMark(isDurable: true))
        #expect(written.phase == .writing && written.record.gap == .failedWrite)
    }

    @Test func killedWriterLeavesNoCompleteRow() throws {
        let death = DraftEvent.flushed(opening: 0, .killed, sequence: 2)
        #expect(try row("written", death) == .saveOrMark(isDurable: false))
        var written = try durable("written")
        #expect(written.perform(death).row == .saveOrMark(isDurable: true))
        #expect(written.record.gap == .killedWriter)
    }

    @Test func queueingAndWithdrawingAreDurable() throws {
        #expect(try row("staging", .staged(attempt: 1, Fixture.staged)) == .save(isDurable: true))
        #expect(try row("queued", .opened(.writing)) == .save(isDurable: true))
        #expect(try row("failed", .opened(.writing)) == .save(isDurable: true))
        #expect(try row("quiet", .opened(.writing)) == .save(isDurable: false))
        var quiet = try durable("quiet")
        #expect(quiet.perform(.opened(.writing)).row == .save(isDurable: true))
        #expect(try row("unsure", .retryRequested) == .save(isDurable: true))
    }

    @Test(arguments: ["queued", "failed", "unsure"])
    func removalOfSendableDraftIsDurable(phase: String) throws {
        #expect(try row(phase, .removed) == .delete(isDurable: true))
    }

    @Test func possiblySentDraftKeepsItsRow() throws {
        var attempted = Fixture.refused(.retry(mayBeHandedOver: true))
        let removal = attempted.perform(.removed)
        #expect(removal.row == .save(isDurable: true) && attempted.state == .removed)
        // Asking needs no file.
        #expect(removal.effects.contains(.removeStaged(Fixture.staged)))
        #expect(removal.effects.contains(.enqueueDelivery(sequence: 1)))
        #expect(attempted.phase.stored == .withdrawn)
        // The next process asks too.
        var next = try #require(attempted.restored(boot: "next boot", spooled: .success(0)))
        #expect(next.isRemoved && !next.isWaiting)
        #expect(next.perform(.started).effects == [.enqueueDelivery(sequence: 1)])
        #expect(next.perform(.deliveryBegins).reply == .lookForItem)
        // Neither a failed query nor a failed deletion ends it.
        let refusal = DeliveryRefusal(.retry(mayBeHandedOver: nil), "Not now.")
        #expect(next.perform(.refused(refusal)).reply == .retryDelivery(tries: 1))
        #expect(next.perform(.backoffOver).effects == [.enqueueDelivery(sequence: 1)])
        #expect(next.perform(.deliveryBegins).reply == .lookForItem)
        #expect(next.perform(.accepted(ItemID(4))).reply == .withdrawItem)
        #expect(next.perform(.refused(refusal)).reply == .retryDelivery(tries: 2))
        #expect(next.perform(.takenBack).row == .delete(isDurable: false))
        #expect(next.phase == .removed)
        // During the hand-over, the core's reply is awaited.
        var sending = try #require(Fixture.sample("sending"))
        #expect(sending.perform(.removed).row == .save(isDurable: true))
        #expect(sending.perform(.backoffOver) == DraftTransition())
        #expect(sending.perform(.deliveryBegins) == DraftTransition())
        #expect(sending.perform(.refused(refusal)).effects == [.removeStaged(Fixture.staged)])
        #expect(sending.perform(.deliveryBegins).reply == .lookForItem)
    }

    @Test(arguments: ["writing", "written", "quiet", "local", "staging", "recovered"])
    func removalIsAsDurableAsItsDraft(phase: String) throws {
        #expect(try row(phase, .removed) == .delete(isDurable: false))
        var machine = try durable(phase)
        #expect(machine.perform(.removed).row == .delete(isDurable: true))
    }

    @Test(arguments: ["writing", "written", "quiet", "local", "staging"])
    func replacementIsAsDurable(phase: String) throws {
        #expect(try row(phase, .replaced) == .delete(isDurable: false))
        var machine = try durable(phase)
        #expect(machine.perform(.replaced).row == .delete(isDurable: true))
    }

    @Test func handoverWritesNothing() throws {
        #expect(try row("queued", .deliveryBegins) == nil)
        var sending = try #require(Fixture.sample("sending"))
        #expect(sending.phase.stored == Fixture.sample("queued")?.phase.stored)
        let accepted = sending.perform(.accepted(ItemID(4)))
        #expect(accepted.row == .saveIfPossible)
        // Not before the row records that the core has it.
        #expect(accepted.effects == [.removeStaged(Fixture.staged)])
    }

    @Test func withdrawnDraftKeepsStagedFileForCore() throws {
        var sending = try #require(Fixture.sample("sending"))
        let removal = sending.perform(.removed)
        #expect(!removal.effects.contains(.removeStaged(Fixture.staged)))
        #expect(sending.state == .removed)
        let answer = sending.perform(.accepted(ItemID(4)))
        #expect(answer.row == nil)
        #expect(answer.effects == [.removeStaged(Fixture.staged)] && answer.reply == .withdrawItem)
    }

    @Test func possiblySentDraftIsNotWritable() throws {
        var again = Fixture.refused(.retry(mayBeHandedOver: true))
        #expect(again.state == .queued)
        #expect(throws: DraftRefusal.notPermitted) { try again.apply(.opened(.writing), at: Fixture.moment) }
        // A clear reply to the retry settles it.
        again.after(.backoffOver, .deliveryBegins)
        again.after(.refused(DeliveryRefusal(.retry(mayBeHandedOver: false), "No.")), .opened(.writing))
        #expect(again.phase == .writing)
        // An unclear reply keeps it.
        var unclear = Fixture.refused(.retry(mayBeHandedOver: true)).having(.deliveryBegins)
        unclear.after(.refused(DeliveryRefusal(.retry(mayBeHandedOver: nil), "No.")))
        #expect(throws: DraftRefusal.notPermitted) {
            try unclear.apply(.opened(.writing), at: Fixture.moment)
        }
        // A failed preparation keeps it too; without earlier attempts it is final.
        var unfit = Fixture.refused(.retry(mayBeHandedOver: true)).having(.deliveryBegins)
        let later = unfit.perform(.refused(DeliveryRefusal(.unfit, "No.")))
        #expect(unfit.state == .queued && later.reply == .retryDelivery(tries: 2))
        #expect(throws: DraftRefusal.notPermitted) { try unfit.apply(.opened(.writing), at: Fixture.moment) }
        #expect(Fixture.refused(.unfit).state == .failed)
        // A file retried although possibly sent may still be sent.
        var wanted = Fixture.refused(.unsure).having(.retryRequested)
        #expect(throws: DraftRefusal.notPermitted) { try wanted.apply(.opened(.writing), at: Fixture.moment) }
        // Also after a restart: the earlier process may have died after the hand-over.
        var restored = try #require(Fixture.queued().restored(spooled: .success(10)))
        #expect(throws: DraftRefusal.notPermitted) {
            try restored.apply(.opened(.writing), at: Fixture.moment)
        }
    }

    @Test func localDraftEndsQuietTimeLocally() throws {
        for text in ["a.part", ".~lock.a#"] {
            let local = Fixture.quiet(text).having(.quietTimeOver(period: 1))
            #expect(local.phase == .local && local.record.problem?.contains("temporary") == true)
        }
        var durable = Fixture.writing("a.part").having(.synchronised, .released(.ofItsMaker, sequence: 1))
        #expect(durable.perform(.quietTimeOver(period: 1)).reply == .none)
        var hasty = Fixture.quiet("a.part")
        #expect(hasty.perform(.quietTimeOver(period: 1)).reply == .makeDurable)
        var damaged = try #require(Fixture.sample("staging"))
        let stopped = damaged.perform(.stagingFailed(attempt: 1, OutboxError(.damaged, "Damaged.")))
        #expect(damaged.phase == .local && damaged.record.gap == .failedWrite && stopped.reply == .none)
    }

    @Test func lateEventsHaveNoEffect() throws {
        // A reader restarted the quiet time; a writer opened it during the copy; a rename made the copy useless.
        let quiet = Fixture.quiet().having(.opened(.reading))
        #expect(quiet.having(.quietTimeOver(period: 1)) == quiet)
        #expect(quiet.having(.quietTimeOver(period: 2)).phase == .staging(attempt: 1))
        let staging = try #require(Fixture.sample("staging"))
        let reopened = staging.having(.opened(.writing))
        #expect(reopened.having(.staged(attempt: 1, Fixture.staged)) == reopened)
        let renamed = staging.having(.renamed(Array("b".utf8)), .quietTimeOver(period: 2))
        #expect(renamed.phase == .staging(attempt: 2))
        #expect(renamed.having(.staged(attempt: 1, Fixture.staged)) == renamed)
    }

    @Test func powerCutDistrustsUnsynchronisedDraft() throws {
        for phase in ["written", "quiet", "local", "staging"] {
            let hasty = try #require(Fixture.sample(phase)).restored(boot: "next", spooled: .success(10))
            #expect(hasty?.phase == .recovered, "\(phase)")
            let kept = try durable(phase).restored(boot: "next", spooled: .success(10))
            #expect(kept?.phase == .quiet(period: 0), "\(phase)")
        }
        for phase in ["queued", "sending", "failed", "unsure", "sent"] {
            let machine = try #require(Fixture.sample(phase))
            #expect(machine.restored(boot: "next", spooled: .success(10))?.phase != .recovered)
        }
    }

    @Test func unreadableDraftIsKeptWithItsRow() throws {
        let unreadable = OutboxError(.storage, "Too many open files.")
        let found = try #require(Fixture.writing().restored(spooled: .failure(unreadable)))
        #expect(found.phase == .recovered)
        #expect(found.record.problem?.contains("Too many open files.") == true)
        #expect(Fixture.writing().restored(spooled: .success(0)) == nil)
        #expect(Fixture.recovered().restored(spooled: .failure(unreadable)) == Fixture.recovered())
    }

    @Test func abandonedDraftIsRemovedOrRecovered() throws {
        let due = Moment(uptime: 100 + DraftMachine.retention, boot: "first boot")
        let early = Moment(uptime: 99 + DraftMachine.retention, boot: "first boot")
        let local = try #require(Fixture.sample("local"))
        var machine = local
        #expect(machine.perform(.aged, at: early) == DraftTransition())
        #expect(machine.perform(.aged, at: due).reply == .expired(.recovery))
        #expect(machine.phase == .recovered)
        var empty = DraftMachine(creating: Fixture.record()).having(
            .released(.ofItsMaker, sequence: 1), .quietTimeOver(period: 1))
        #expect(empty.perform(.aged, at: due).reply == .expired(.removal))
        var read = local.having(.opened(.reading))
        #expect(read.perform(.aged, at: due) == DraftTransition())
        var killed = Fixture.writing().having(
            .flushed(opening: 0, .killed, sequence: 1), .released(.ofItsMaker, sequence: 2))
        #expect(killed.perform(.aged, at: due).reply == .expired(.recovery))
        #expect(killed.phase == .recovered && killed.record.touched == due.uptime)
        var temporary = Fixture.recovered("a.part")
        #expect(temporary.perform(.aged, at: due) == DraftTransition())
    }
}
