import Base
import ChatCore

@testable import Outbox

/// Drafts in every state, reached by events.
enum MachineFixture {
    static let moment = Moment(uptime: 100, boot: "first boot")
    static let staged = StagedFile(
        folder: "folder", fileName: "a", arguments: FileArguments(key: [1], nonce: [2]), kind: .file)
    static let time = Timestamp(seconds: 5)

    static func record(_ text: String = "a.bin", size: UInt64 = 0) -> DraftRecord {
        DraftRecord(
            id: 1, chat: .direct(7), name: Array(text.utf8), spool: "spool", key: [3], message: "mark",
            size: size, modified: Timestamp(seconds: 1), touched: 100)
    }

    /// Created and written.
    static func writing(_ text: String = "a.bin") -> DraftMachine {
        var machine = DraftMachine(creating: record(text))
        machine.after(.writeBegins(opening: 0, thread: 9), .wrote(size: 10, at: time))
        return machine
    }

    static func quiet(_ text: String = "a.bin") -> DraftMachine {
        writing(text).having(.released(.ofItsMaker, sequence: 1))
    }

    static func queued() -> DraftMachine {
        quiet().having(.quietTimeOver(period: 1), .staged(attempt: 1, staged))
    }

    static func sending() -> DraftMachine { queued().having(.deliveryBegins) }

    static func refused(_ consequence: DeliveryRefusal.Consequence) -> DraftMachine {
        sending().having(.refused(DeliveryRefusal(consequence, "No.")))
    }

    static func recovered(_ text: String = "a.bin") -> DraftMachine {
        DraftMachine(restoring: record(text, size: 10), .recovered)
    }

    /// Samples by the names of the table's columns.
    static func sample(_ phase: String) -> DraftMachine? { PhaseName(rawValue: phase).map(sample) }

    static func sample(_ phase: PhaseName) -> DraftMachine {
        switch phase {
        case .writing: writing()
        case .written: writing().having(.flushed(opening: 0, .finished, sequence: 1))
        case .quiet: quiet()
        case .local: quiet("a.part").having(.quietTimeOver(period: 1))
        case .staging: quiet().having(.quietTimeOver(period: 1))
        case .queued: queued()
        case .sending: sending()
        case .sent: sending().having(.accepted(ItemID(4)))
        case .acknowledged: sending().having(.accepted(ItemID(4)), .acknowledged)
        case .failed: refused(.failed)
        case .unsure: refused(.unsure)
        case .recovered: recovered()
        case .withdrawn: sending().having(.removed, .opened(.writing))
        case .removed: writing().having(.removed)
        }
    }
}

/// The phases without their values, by the names of the table's columns.
enum PhaseName: String, CaseIterable {
    case writing, written, quiet, local, staging, queued, sending, sent, acknowledged, failed, unsure,
        recovered,
        withdrawn, removed
}

extension DraftMachine {
    /// Applies events that cannot be refused.
    mutating func after(_ events: DraftEvent...) { for event in events { perform(event) } }

    func having(_ events: DraftEvent...) -> DraftMachine {
        var machine = self
        for event in events { machine.perform(event) }
        return machine
    }

    @discardableResult
    mutating func perform(_ event: DraftEvent, at moment: Moment = MachineFixture.moment) -> DraftTransition {
        do {
            return try apply(event, at: moment)
        } catch {
            fatalError("\(event) is refused in \(phase): \(error)")
        }
    }

    var lastOpening: DraftOpening { DraftOpening(.writing, writers.openings.keys.max() ?? 0) }
}

extension DraftPhase {
    var name: PhaseName {
        switch self {
        case .writing: .writing
        case .written: .written
        case .quiet: .quiet
        case .local: .local
        case .staging: .staging
        case .queued: .queued
        case .sending: .sending
        case .sent: .sent
        case .acknowledged: .acknowledged
        case .failed: .failed
        case .unsure: .unsure
        case .recovered: .recovered
        case .withdrawn: .withdrawn
        case .removed: .removed
        }
    }

    /// The table's word.
    var word: String { name.rawValue }
}
