import Base
import Ratchet
import TestSupport
import Testing

@testable import Agent

/// Every transition of `RatchetSync`, and no others.
@Suite struct SynchronisationTableTests {
    enum Event: CaseIterable {
        case oneUnreadable, allUnreadable, start, agree, succeed
    }

    /// The next phase for each event, by phase. Omitted events change nothing.
    private static let table: [RatchetSyncPhase: [Event: RatchetSyncPhase]] = [
        .synchronised: [
            .oneUnreadable: .allowed, .allUnreadable: .required, .start: .started, .agree: .agreed,
        ],
        .allowed: [.allUnreadable: .required, .start: .started, .agree: .agreed, .succeed: .synchronised],
        .required: [.start: .started, .agree: .agreed, .succeed: .synchronised],
        .started: [.agree: .agreed],
        .agreed: [.start: .started, .succeed: .synchronised],
    ]

    private static func parameters(_ seed: UInt64) -> AgreementParameters {
        AgreementKeys.generate(random: SeededBytes(seed)).parameters(version: 3)
    }

    private static let own = AgreementKeys.generate(random: SeededBytes(8))

    private static func synchronisation(in phase: RatchetSyncPhase) -> RatchetSync {
        RatchetSync(
            phase: phase,
            keys: phase == .started || phase == .agreed ? AgreementKeys.generate(random: SeededBytes(9)) : nil
        )
    }

    @Test(arguments: RatchetSyncPhase.allCases, Event.allCases)
    func eventsFollowTransitionTable(before: RatchetSyncPhase, event: Event) {
        var synchronisation = Self.synchronisation(in: before)
        switch event {
        case .oneUnreadable: synchronisation.fail(isLost: false)
        case .allUnreadable: synchronisation.fail(isLost: true)
        case .start: synchronisation.start(with: AgreementKeys.generate(random: SeededBytes(1)))
        case .agree: synchronisation.agree(Self.own, with: Self.parameters(2), answersReady: false)
        case .succeed: synchronisation.succeed()
        }
        #expect(synchronisation.phase == Self.table[before]?[event] ?? before)
        #expect((synchronisation.keys != nil) == [.started, .agreed].contains(synchronisation.phase))
    }

    @Test func applicationMessagesWaitUntilKeysAreProven() {
        let allowing = RatchetSyncPhase.allCases.filter {
            Self.synchronisation(in: $0).allowsSending
        }
        #expect(allowing == [.synchronised, .allowed])
    }

    @Test func readyMessageCountsOnce() {
        var synchronisation = RatchetSync()
        var taken = [synchronisation.takeReady()]
        for answersReady in [true, false] {
            synchronisation.agree(
                Self.own, with: Self.parameters(answersReady ? 1 : 2), answersReady: answersReady)
            // Another message may have proven the keys before.
            synchronisation.succeed()
            taken += [synchronisation.takeReady(), synchronisation.takeReady()]
        }
        #expect(taken == [.ignored, .answered, .ignored, .awaited, .ignored])
    }

    @Test func last64PeerKeysAreRemembered() {
        let peers = (1...66).map { Self.parameters($0) }
        var synchronisation = RatchetSync()
        for (count, peer) in peers.enumerated() {
            #expect(!synchronisation.hasUsed(peer))
            synchronisation.agree(Self.own, with: peer, answersReady: false)
            #expect(synchronisation.usedKeys.count == min(count + 1, 64))
            #expect(synchronisation.hasUsed(peers[max(0, count - 63)]))
        }
        #expect(peers.filter { !synchronisation.hasUsed($0) } == Array(peers.prefix(2)))
    }
}
