import Base
import Ratchet
import SMP
import TestSupport
import Testing

@testable import Agent

/// The effect of each event in each phase.
@Suite struct PhaseTests {
    typealias Phase = ConnectionCondition.Phase

    private static let phases: [Phase] = [
        .inviting, .address, .requesting, .joining, .confirming, .connected, .failed, .deleting,
    ]
    /// Phases from which a handshake can fail.
    private static let beginning: [Phase] = [.inviting, .requesting, .joining, .confirming]

    /// An established connection's queues, keys and ratchet in another phase.
    private static func machine(
        in phase: Phase, synchronisation: RatchetSyncPhase = .synchronised, isGone: Bool = false,
        use: SendingQueue.Use = .present
    ) throws -> ConnectionMachine {
        let pair = try MachinePair.connected()
        let old = pair.joiner.state
        var state = ConnectionState(phase: phase, information: [], receiving: old.receiving)
        state.ratchet = old.ratchet
        state.sending = old.sending
        state.sending[0].isGone = isGone
        state.sending[0].use = use
        state.synchronisation = RatchetSync(phase: synchronisation)
        return ConnectionMachine(state, tools: pair.joiner.machine.tools)
    }

    @Test(arguments: phases) func onlyUnfinishedHandshakeCanFail(phase: Phase) throws {
        var machine = try Self.machine(in: phase)
        machine.fail(.expired)
        if Self.beginning.contains(phase) {
            #expect(machine.state.phase == .failed)
            #expect(machine.effects == [.failWaiting(.expired), .tell(.connectionFailed(.expired))])
            #expect(machine.state.receiving.allSatisfy { $0.status == .deleting })
        } else {
            #expect(machine.state.phase == phase && machine.effects.isEmpty)
            #expect(machine.state.receiving.allSatisfy { $0.status == .active })
        }
    }

    @Test(arguments: phases) func deletionWaitsOnlyIfSendingIsPossible(phase: Phase) throws {
        var later = try Self.machine(in: phase)
        later.delete(afterSending: true)
        #expect(later.state.phase == .deleting)
        let waits = phase == .connected || phase == .deleting
        #expect(later.effects == (waits ? [] : [.failWaiting(.deleted)]))

        var atOnce = try Self.machine(in: phase)
        atOnce.delete(afterSending: false)
        #expect(atOnce.state.phase == .deleting && atOnce.effects == [.failWaiting(.deleted)])
        // The driver deletes the queues once nothing is left to send.
        #expect(atOnce.state.receiving.allSatisfy { $0.status == .active })
        atOnce.finishDeleting()
        #expect(atOnce.state.receiving.allSatisfy { $0.status == .deleting })
    }

    @Test func deletionDoesNotWaitForUndeliverableMessages() throws {
        for synchronisation in RatchetSyncPhase.allCases {
            var machine = try Self.machine(in: .connected, synchronisation: synchronisation)
            machine.delete(afterSending: true)
            #expect(
                machine.effects == (synchronisation == .required ? [.failWaiting(.deleted)] : []),
                "\(synchronisation)")
        }
        var gone = try Self.machine(in: .connected, isGone: true)
        gone.delete(afterSending: true)
        #expect(gone.effects == [.failWaiting(.deleted)])
    }

    @Test func eachKindIsSentInItsPhases() throws {
        let expected: [Outgoing.Kind: [Phase]] = [
            .request: [.requesting], .confirmation: [.joining, .confirming],
            .keys: [.connected, .deleting], .message: [.connected, .deleting],
        ]
        for kind in Outgoing.Kind.allCases {
            for isUrgent in [false, true] {
                let ready = try Self.phases.filter {
                    try Self.machine(in: $0).isReady(kind, isUrgent: isUrgent)
                }
                #expect(ready == expected[kind], "\(kind)")
                let gone = try Self.phases.filter {
                    try Self.machine(in: $0, isGone: true).isReady(kind, isUrgent: isUrgent)
                }
                #expect(gone.isEmpty)
                // Announced, not usable yet.
                let next = try Self.phases.filter {
                    try Self.machine(in: $0, use: .next).isReady(kind, isUrgent: isUrgent)
                }
                #expect(next.isEmpty)
            }
        }
        var unmade = try Self.machine(in: .requesting)
        unmade.state.receiving[0].status = .creating
        #expect(!unmade.isReady(.request, isUrgent: true), "its link would lead nowhere")
    }

    @Test func onlyProofIsSentBeforeKeysAreProven() throws {
        for synchronisation in RatchetSyncPhase.allCases {
            let machine = try Self.machine(in: .connected, synchronisation: synchronisation)
            let ready = [false, true].map { machine.isReady(.message, isUrgent: $0) }
            switch synchronisation {
            case .synchronised, .allowed: #expect(ready == [true, true])
            case .agreed: #expect(ready == [false, true])
            case .required, .started: #expect(ready == [false, false])
            }
            #expect(machine.isReady(.keys, isUrgent: true))
        }
        var silent = try Self.machine(in: .connected)
        silent.state.ratchet = nil
        #expect(!silent.isReady(.message, isUrgent: true) && silent.isReady(.keys, isUrgent: true))
    }

    @Test func goneQueueMeansLinkGoneThenContactGone() throws {
        for phase in Self.phases {
            var machine = try Self.machine(in: phase)
            let location = try #require(machine.state.present).address.location
            machine.queueGone(location, reason: .contactGone)
            #expect(machine.state.present?.isGone == true)
            #expect(machine.effects.last == .failWaiting(.contactGone))
            let reason: FailureReason = [.joining, .requesting].contains(phase) ? .linkGone : .contactGone
            if Self.beginning.contains(phase) {
                #expect(machine.state.phase == .failed)
                #expect(machine.effects.contains(.tell(.connectionFailed(reason))))
            } else {
                #expect(machine.state.phase == phase)
            }
            #expect(machine.effects.contains(.tell(.conditionChanged(machine.state.condition))))
            #expect(machine.state.condition.isGone)
        }
    }

    @Test func refusalIsNotReportedAsLinkGone() throws {
        var machine = try Self.machine(in: .joining)
        machine.queueGone(try #require(machine.state.present).address.location, reason: .refused)
        #expect(machine.effects.contains(.tell(.connectionFailed(.refused))))

        var other = try Self.machine(in: .connected)
        let (server, place) = (try Known.server(9), try #require(other.state.present).address)
        other.queueGone(QueueLocation(server: server, senderID: place.senderID), reason: .contactGone)
        other.queueGone(QueueLocation(server: place.server, senderID: [1]), reason: .contactGone)
        #expect(other.effects.isEmpty && other.state.present?.isGone == false)
    }

    @Test func acceptedMessageAdvancesOnlyHandshake() throws {
        for phase in Self.phases {
            for kind in [Outgoing.Kind.keys, .message] {
                var machine = try Self.machine(in: phase)
                machine.sent(kind)
                #expect(machine.state.phase == phase && machine.effects.isEmpty)
            }
            var machine = try Self.machine(in: phase)
            machine.sent(.confirmation)
            #expect(machine.state.phase == (phase == .confirming ? .connected : phase))
            #expect(machine.effects == (phase == .confirming ? [.tell(.connected(information: []))] : []))
        }
        var requesting = try Self.machine(in: .requesting, use: .request)
        requesting.sent(.request)
        #expect(requesting.state.sending.isEmpty && requesting.state.phase == .requesting)
    }

    @Test func queueCreatedAfterDeletionIsDeleted() throws {
        let key = try Self.machine(in: .connected).state.receiving[0].address?.key ?? []
        let ids = Answer.QueueIDs(recipientID: [1], senderID: [2], boxKey: key, mode: nil)
        for phase in Self.phases {
            var machine = try Self.machine(in: phase)
            machine.state.receiving[0].status = .creating
            machine.created(ids, at: 0)
            let queue = machine.state.receiving[0]
            #expect(queue.recipientID == [1] && queue.senderID == [2] && queue.serverBoxKey == key)
            #expect(queue.status == ([.failed, .deleting].contains(phase) ? .deleting : .active), "\(phase)")
            let introduction = Effect.send(.introduction(.confirmation, []))
            #expect(machine.effects == (phase == .joining ? [introduction] : []))
        }
    }

    @Test func refusedQueueFailsHandshakeOrRotation() throws {
        for phase in Self.phases {
            var machine = try Self.machine(in: phase)
            machine.state.receiving[0].isReplacement = true
            machine.state.receiving[0].keyToSecure = [1]
            machine.cannotCreate(0)
            let queue = machine.state.receiving[0]
            #expect(queue.status == .deleting && !queue.isReplacement && queue.keyToSecure == nil)
            #expect(machine.state.phase == (Self.beginning.contains(phase) ? .failed : phase))
        }
    }

    @Test func takeoverIsReportedOnce() throws {
        var machine = try Self.machine(in: .connected)
        for _ in 0..<2 { machine.takenOver(0) }
        var taken = machine.state.condition
        #expect(taken.isTakenOver && machine.effects == [.tell(.conditionChanged(taken))])
        for _ in 0..<2 { machine.isReceivingAgain(0) }
        taken.isTakenOver = false
        #expect(machine.effects.count == 2 && machine.effects.last == .tell(.conditionChanged(taken)))
        // A queue that is no longer read does not matter.
        machine.state.receiving[0].status = .draining
        machine.takenOver(0)
        #expect(machine.effects.count == 2)
    }
}
