import Base
import ChatCore
import Glibc
import Posix
import Testing

@testable import Outbox

/// The table of `docs/dev/draft-states.md`: every event in every state.
@Suite struct DraftTableTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var event: String
        /// The outcome in each state.
        var cells: [(phase: String, outcome: String)]
        var testDescription: String { event }
    }

    static let rows: [Row] = {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        guard let file = try? OpenFile("/" + root + "/docs/dev/draft-states.md", flags: O_RDONLY),
            let size = try? file.size(), let bytes = try? file.read(count: Int(size), at: 0)
        else { return [] }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        let cells = { (line: Substring) in
            line.split(separator: "|").map { $0.drop { $0 == " " } }.map {
                String($0.reversed().drop { $0 == " " }.reversed())
            }.filter { !$0.isEmpty }
        }
        guard let head = lines.firstIndex(where: { $0.hasPrefix("| event | writing |") }) else { return [] }
        let phases = cells(lines[head]).dropFirst()
        return lines[(head + 2)...].prefix { $0.hasPrefix("|") }.map { line in
            let cells = cells(line)
            return Row(event: cells[0], cells: Array(zip(phases, cells.dropFirst())))
        }
    }()

    static let moment = Moment(uptime: 100 + DraftMachine.retention, boot: "first boot")

    private func sampleEvent(_ name: String, for machine: DraftMachine) -> DraftEvent? {
        let last = machine.lastOpening
        let (time, staged) = (Timestamp(seconds: 6), MachineFixture.staged)
        return switch name {
        case "open to read": .opened(.reading)
        case "open to write": .opened(.writing)
        case "write begins": .writeBegins(opening: last.number, thread: 8)
        case "wrote": .wrote(size: 20, at: time)
        case "truncated": .truncated(size: 5, at: time)
        case "write failed": .writeFailed(size: 7)
        case "flush": .flushed(opening: last.number, .finished, sequence: 2)
        case "flush, writer killed": .flushed(opening: last.number, .killed, sequence: 2)
        case "last release": .released(last, sequence: 2)
        case "fsync": .synchronised
        case "set time": .modifiedSet(time)
        case "set caption": .captionSet("look")
        case "rename": .renamed(Array("b.bin".utf8))
        case "replaced": .replaced
        case "remove": .removed
        case "retry": .retryRequested
        case "sent from what is recovered": .returned(Array("b.bin".utf8))
        case "start": .started
        case "doubted": .doubted(.running("wget"))
        case "quiet time over": .quietTimeOver(period: 1)
        case "quiet time over, unfinished": .quietTimeOver(period: 1, .held(.failedRead("cp")))
        case "quiet time over, its writer may go on":
            .quietTimeOver(period: 1, .waits(.running("wget"), limit: .seconds(9)))
        case "staged": .staged(attempt: 1, staged)
        case "staging failed": .stagingFailed(attempt: 1, OutboxError(.noSpace, "Full."))
        case "delivery begins": .deliveryBegins
        case "accepted": .accepted(ItemID(4))
        case "refused for good": .refused(DeliveryRefusal(.failed, "Never."))
        case "cannot be made ready": .refused(DeliveryRefusal(.unfit, "Not like this."))
        case "no clear answer": .refused(DeliveryRefusal(.unsure, "Perhaps."))
        case "refused for now": .refused(DeliveryRefusal(.retry(mayBeHandedOver: nil), "Later."))
        case "backoff over": .backoffOver
        case "taken back": .takenBack
        case "acknowledged": .acknowledged
        case "left alone 7 days": .aged
        default: nil
        }
    }

    @Test func tableHasEveryState() {
        let phases = PhaseName.allCases
        for row in Self.rows {
            #expect(row.cells.map(\.phase) == phases.map(\.rawValue), "the columns of \(row.event)")
        }
        for phase in phases { #expect(MachineFixture.sample(phase).phase.name == phase) }
    }

    @Test func tableHasEveryEvent() {
        let events = Self.rows.compactMap { sampleEvent($0.event, for: MachineFixture.writing()) }
        let missing = Set(EventName.allCases).subtracting(events.map(\.name))
        #expect(missing.isEmpty, "docs/dev/draft-states.md has no row for these")
        #expect(events.count == Self.rows.count - 1, "one row is about the next process")
    }

    @Test(arguments: rows.filter { $0.event != "process died" })
    func performed(row: Row) throws {
        for (phase, expected) in row.cells {
            let before = try #require(MachineFixture.sample(phase))
            let event = try #require(sampleEvent(row.event, for: before), "no such event")
            var machine = before
            let outcome: String
            do throws(DraftRefusal) {
                let transition = try machine.apply(event, at: Self.moment)
                #expect(transition.row == nil || !before.changesNoRow(event), "\(row.event) in \(phase)")
                if machine.phase.word != phase {
                    outcome = machine.phase.word
                } else {
                    outcome = machine == before && transition == DraftTransition() ? "–" : "="
                }
            } catch {
                #expect(machine == before, "\(row.event) in \(phase): refused, and yet changed")
                outcome = error == .notPermitted ? "EPERM" : "✗"
            }
            #expect(outcome == expected, "\(row.event) in \(phase)")
            Self.check(machine)
        }
    }

    /// The outcome of each state in a new process.
    @Test func processDied() throws {
        let row = try #require(Self.rows.first { $0.event == "process died" })
        for (phase, expected) in row.cells {
            let machine = try #require(MachineFixture.sample(phase))
            let found = machine.restored(spooled: .success(10))
            #expect((found?.phase.word ?? "gone") == expected, "\(phase)")
            if let found { Self.check(found) }
        }
    }

    /// Invariants of every state.
    static func check(_ machine: DraftMachine) {
        switch machine.phase {
        case .writing, .written: #expect(!machine.writers.isEmpty)
        case .withdrawn, .removed: break
        default: #expect(machine.writers.isEmpty, "a writer in \(machine.phase)")
        }
        if case .staging = machine.phase { #expect(machine.record.reasonToStay == nil) }
        if case .local = machine.phase { #expect(machine.record.reasonToStay != nil) }
        #expect(!(machine.isWaiting && machine.record.gap != nil))
        // A row contains the fields of its state.
        switch machine.phase.stored {
        case .queued?, .failed?, .unsure?: #expect(machine.phase.staged != nil)
        case .withdrawn?: #expect(machine.state == .removed)
        case nil: #expect(machine.state == .removed || machine.state == .sent)
        default: #expect(machine.phase.staged == nil)
        }
    }
}

extension DraftMachine {
    /// The machine that the next process restores from its row; nil for none.
    func restored(boot: String = "first boot", spooled: Result<UInt64, OutboxError>) -> DraftMachine? {
        guard let stored = phase.stored else { return nil }
        let moment = Moment(uptime: 200, boot: boot)
        switch DraftRestoration(of: Journal.Entry(record, stored), at: moment, spooled: { spooled }) {
        case .kept(let machine): return machine
        case .recovered(let machine, let entry):
            #expect(entry == Journal.Entry(machine.record, .recovered))
            return machine
        case .dropped: return nil
        }
    }
}

/// The events without their values.
enum EventName: CaseIterable {
    case opened, writeBegins, wrote, truncated, writeFailed, flushed, released, doubted, synchronised,
        modifiedSet,
        captionSet, renamed, replaced, removed, retryRequested, returned, started, quietTimeOver, staged,
        stagingFailed, deliveryBegins, accepted, refused, backoffOver, takenBack, acknowledged, aged
}

extension DraftEvent {
    var name: EventName {
        switch self {
        case .opened: .opened
        // One row for both.
        case .writeBegins, .truncationBegins: .writeBegins
        case .wrote: .wrote
        case .truncated: .truncated
        case .writeFailed: .writeFailed
        case .flushed: .flushed
        case .released: .released
        case .doubted: .doubted
        case .synchronised: .synchronised
        case .modifiedSet: .modifiedSet
        case .captionSet: .captionSet
        case .renamed: .renamed
        case .replaced: .replaced
        case .removed: .removed
        case .retryRequested: .retryRequested
        case .returned: .returned
        case .started: .started
        case .quietTimeOver: .quietTimeOver
        case .staged: .staged
        case .stagingFailed: .stagingFailed
        case .deliveryBegins: .deliveryBegins
        case .accepted: .accepted
        case .refused: .refused
        case .backoffOver: .backoffOver
        case .takenBack: .takenBack
        case .acknowledged: .acknowledged
        case .aged: .aged
        }
    }
}
