import TestSupport
import Testing

@testable import FileSystem

@Suite struct PastedFolderMachineTests {
    private typealias Machine = PastedFolderMachine

    /// A machine in each phase at attempt 1.
    private static func machine(_ phase: Machine.Phase) -> Machine {
        var machine = Machine()
        _ = machine.apply(.changed)
        switch phase {
        case .collecting: break
        case .archiving: _ = machine.apply(.quiet(attempt: 1, .complete))
        case .handedOver:
            _ = machine.apply(.quiet(attempt: 1, .complete))
            _ = machine.apply(.archived(attempt: 1))
        case .stopped: _ = machine.apply(.quiet(attempt: 1, .incomplete("why")))
        }
        return machine
    }

    private static let stopped = Machine.Phase.stopped(
        "The folder is not sent, since a file in it is incomplete. why")
    private static let all: [Machine.Phase] = [.collecting, .archiving, .handedOver, stopped]

    private struct Row {
        let from: Machine.Phase
        let event: PastedFolderEvent
        let to: Machine.Phase
        let action: PastedFolderAction?
    }

    /// The table of `PastedFolderMachine`; other events have no effect.
    private static let rows: [Row] = [
        Row(from: .collecting, event: .changed, to: .collecting, action: .wait(attempt: 2, isLong: false)),
        Row(from: .archiving, event: .changed, to: .collecting, action: .wait(attempt: 2, isLong: false)),
        Row(from: stopped, event: .changed, to: .collecting, action: .wait(attempt: 2, isLong: false)),
        Row(
            from: .collecting, event: .quiet(attempt: 1, .complete), to: .archiving,
            action: .archive(attempt: 1)),
        Row(
            from: .collecting, event: .quiet(attempt: 1, .open), to: .collecting,
            action: .wait(attempt: 2, isLong: false)),
        Row(from: .collecting, event: .quiet(attempt: 1, .empty), to: .collecting, action: nil),
        Row(
            from: .collecting, event: .quiet(attempt: 1, .incomplete("why")), to: stopped, action: .tell),
        Row(from: .archiving, event: .archived(attempt: 1), to: .handedOver, action: .handOver),
        Row(
            from: .archiving, event: .failed(attempt: 1, "bad", mayPass: false), to: .stopped("bad"),
            action: .tell),
        Row(
            from: .archiving, event: .failed(attempt: 1, "full", mayPass: true), to: .collecting,
            action: .wait(attempt: 2, isLong: true)),
        Row(
            from: .handedOver, event: .failed(attempt: 1, "bad", mayPass: false), to: .stopped("bad"),
            action: .tell),
        Row(
            from: .handedOver, event: .failed(attempt: 1, "full", mayPass: true), to: .collecting,
            action: .wait(attempt: 2, isLong: true)),
        Row(
            from: .handedOver, event: .replaced(attempt: 1), to: .collecting,
            action: .wait(attempt: 2, isLong: true)),
        Row(
            from: stopped, event: .retryRequested, to: .collecting, action: .wait(attempt: 2, isLong: false)),
        Row(
            from: .collecting, event: .found(wasComplete: true), to: .collecting,
            action: .wait(attempt: 2, isLong: false)),
        Row(
            from: .collecting, event: .found(wasComplete: false),
            to: .stopped(
                "ChatFS stopped before this folder was known to be complete: copy the missing files into it, or use "
                    + "chatfs retry to send it as it is."), action: .tell),
    ]

    private static let contents: [PastedFolderContent] = [.empty, .open, .complete, .incomplete("why")]
    private static let events: [PastedFolderEvent] =
        [.changed, .retryRequested, .found(wasComplete: true), .found(wasComplete: false)]
        + [1, 7].flatMap { attempt in
            contents.map { .quiet(attempt: attempt, $0) }
                + [
                    .archived(attempt: attempt), .failed(attempt: attempt, "bad", mayPass: false),
                    .failed(attempt: attempt, "full", mayPass: true), .replaced(attempt: attempt),
                ]
        }

    @Test func transitionsMatchTheTable() {
        for phase in Self.all {
            for event in Self.events {
                var machine = Self.machine(phase)
                let before = machine
                let action = machine.apply(event)
                let row = Self.rows.first { $0.from == phase && $0.event == event }
                #expect(action == row?.action, "\(event) in \(phase)")
                #expect(machine.phase == row?.to ?? phase, "\(event) in \(phase)")
                if row == nil { #expect(machine == before, "\(event) in \(phase)") }
            }
        }
        #expect(Set(Self.rows.map(\.event)).isSubset(of: Set(Self.events)))
    }

    @Test func retriedFolderIsSentIncomplete() {
        var machine = Self.machine(Self.stopped)
        _ = machine.apply(.retryRequested)
        #expect(machine.apply(.quiet(attempt: 2, .incomplete("why"))) == .archive(attempt: 2))
        #expect(machine.problem == nil)
        _ = machine.apply(.changed)
        #expect(machine.apply(.quiet(attempt: 3, .incomplete("why"))) == .tell)
        #expect(machine.problem != nil)
    }

    @Test func onlyUnchangedFoldersAreHandedOver() {
        var random = SeededGenerator(state: 14)
        var handed = 0
        for _ in 0..<2_000 {
            var machine = Machine()
            var isComplete = false
            for _ in 0..<30 {
                let attempt = machine.attempt - Int.random(in: 0...1, using: &random)
                let content = Self.contents.randomElement(using: &random) ?? .empty
                let event: PastedFolderEvent =
                    switch Int.random(in: 0..<9, using: &random) {
                    case 0: .changed
                    case 1, 2, 3: .quiet(attempt: attempt, content)
                    case 4, 5: .archived(attempt: attempt)
                    case 6: .failed(attempt: attempt, "bad", mayPass: Bool.random(using: &random))
                    case 7: .replaced(attempt: attempt)
                    default: .retryRequested
                    }
                let wanted = machine.isWantedAsItIs
                switch machine.apply(event) {
                case .archive: isComplete = content == .complete || wanted
                case .handOver:
                    #expect(isComplete)
                    handed += 1
                case .wait, .tell: isComplete = false
                case nil: break
                }
            }
        }
        #expect(handed > 100)
    }
}
