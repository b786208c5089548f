import Base
import ChatCore
import TestSupport
import Testing

@testable import Outbox

/// Any history of a draft, with processes that die at every row and effect, against what its user was promised.
@Suite struct DraftHistoryTests {
    @Test(arguments: 0..<8)
    func whatWasPromisedHolds(block: UInt64) {
        var (sent, deaths) = (0, 0)
        for seed in (block * 250)..<(block * 250 + 250) {
            var outbox = SimulatedOutbox(seed: seed)
            for _ in 0..<60 { outbox.act() }
            outbox.finish()
            deaths += outbox.deaths
            let promise = outbox.promise
            switch outbox.machine.phase {
            case .acknowledged:
                sent += 1
                #expect(outbox.taken == promise.content, "seed \(seed)")
            case .removed: #expect(promise.isRemoved, "seed \(seed)")
            case .failed: #expect(!outbox.machine.isWaiting)
            case .local:
                #expect(!promise.isSendable && outbox.machine.record.problem != nil, "seed \(seed)")
            case .recovered: #expect(promise.isRecovered && outbox.taken == nil, "seed \(seed)")
            default: Issue.record("seed \(seed): it is left \(outbox.machine.phase)")
            }
        }
        // No history is left out by chance.
        #expect(sent > 10 && deaths > 100)
    }
}
