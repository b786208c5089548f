import ChatCore
import Testing

@testable import Hydration

/// What must hold whatever happens.
extension World {
    /// Nothing that is silent is under way for nobody.
    func checkCancelled() {
        for flight in machine.flights where !flight.isHere && !flight.isCancelled {
            let isSilent = !flight.hasBytes || now - flight.lastSign >= machine.settings.stalledAfter
            guard let entry = machine.current(flight.file, flight.generation) else {
                Issue.record("fetched for an attempt that is over")
                continue
            }
            let isMended =
                if case .chunks(let download) = entry.phase { !download.damaged.isEmpty } else { false }
            let isKept =
                isMended || machine.pinned.contains(flight.file) || machine.settings.finishesWhatWasRead
            #expect(!isSilent || isKept || entry.opens > 0 || !entry.waiters.isEmpty)
        }
    }

    func check() {
        let settings = machine.settings
        #expect(machine.flights.count <= settings.chunksInFlight)
        let coming = machine.flights.filter { !$0.isHere }
        // The world is slow: relays come to be far away.
        for (_, flights) in Dictionary(grouping: coming, by: \.relay) {
            #expect(flights.count <= settings.chunksPerRelay + settings.moreFromFar)
        }
        for entry in machine.entries.values {
            #expect(entry.waiters.allSatisfy { $0.deadline <= now + .seconds(5) })
            // Whose answer is known waits no longer.
            switch entry.phase {
            case .awaitingCore: #expect(!entry.file.status.isReadable)
            case .whole, .failed: #expect(entry.waiters.isEmpty)
            case .chunks(let download):
                #expect(!entry.waiters.contains { download.dead != nil || download.satisfies($0.goal) })
                #expect(!download.isChecked || !download.isCompleting)
            case .idle, .preparing: break
            }
            guard case .chunks(let download) = entry.phase else { continue }
            #expect(download.inFlight <= settings.chunksPerFile + settings.moreFromFar)
            #expect(download.inFlight == download.states.filter { $0 == .inFlight }.count)
        }
        #expect(machine.flights.count(where: \.isBackground) <= settings.backgroundChunks)
        let fresh = machine.flights.filter { $0.isHere || now - $0.lastSign < settings.stalledAfter }
        let bytes = fresh.reduce(0) { $0 + $1.bytes }
        // A relay that was silent and whose chunk then arrived after all may exceed the bound.
        #expect(
            bytes <= settings.bytesInFlight + settings.moreBytesFromFar || fresh.count == 1 || lateArrivals)
        #expect(Set(machine.rotation).count == machine.rotation.count)
        let asked = Set(machine.entries.values.flatMap { $0.waiters.map(\.id) })
        #expect(asked == Set(waiting.keys))
    }

    /// Everything answers from now on: nobody may be left waiting.
    mutating func settle() {
        var rounds = 0
        while !waiting.isEmpty || !pending.isEmpty || !here.isEmpty {
            rounds += 1
            guard rounds < 10_000 else {
                Issue.record("\(waiting.count) readers wait for ever")
                return
            }
            now += .milliseconds(10)
            if !here.isEmpty {
                land()
            } else if pending.isEmpty {
                perform(machine.tick(now: now))
            } else {
                carryOutOne(fails: false)
            }
            check()
        }
        #expect(machine.flights.isEmpty)
    }
}
