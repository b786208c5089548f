import Base
import ChatCore
import TestSupport
import Testing

@testable import Outbox

/// Random histories of a draft, with kills at every row and effect, against the promises to its user.
@Suite struct DraftHistoryTests {
    @Test(arguments: 0..<8)
    func randomHistoriesKeepPromises(block: UInt64) {
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
            case .removed:
                // The core keeps nothing of a removed draft.
                let isLeft = outbox.taken != nil && !outbox.cancelled && !outbox.isForgotten
                #expect(promise.isRemoved && !isLeft, "seed \(seed)")
            case .failed: #expect(!outbox.machine.isWaiting)
            case .local:
                #expect(!promise.isSendable && outbox.machine.record.problem != nil, "seed \(seed)")
            case .recovered: #expect(promise.isRecovered && outbox.taken == nil, "seed \(seed)")
            default: Issue.record("seed \(seed): it is left \(outbox.machine.phase)")
            }
        }
        // Guards against histories without these events.
        #expect(sent > 10 && deaths > 100)
    }

    @Test func coreKeepsNothingRemovedBeforeItsReply() {
        var (takenBack, deaths) = (0, 0)
        for seed in 5000..<20_000 as Range<UInt64> where takenBack < 10 {
            var outbox = SimulatedOutbox(seed: seed, removesWhatIsTaken: true)
            for _ in 0..<60 { outbox.act() }
            outbox.finish()
            guard case .removed = outbox.machine.phase else { continue }
            let isLeft = outbox.taken != nil && !outbox.cancelled && !outbox.isForgotten
            #expect(!isLeft, "seed \(seed)")
            if outbox.cancelled { (takenBack, deaths) = (takenBack + 1, deaths + outbox.deaths) }
        }
        // Guards against histories without these events.
        #expect(takenBack == 10 && deaths > 0)
    }
}
