import ChatCore
import Testing

@testable import Hydration
@testable import XFTP

/// Invariants of every history.
extension World {
    /// No unwanted fetch without progress is running.
    func checkCancelled() {
        for flight in simulation.scheduler.flights
        where !flight.hasArrived && !flight.isCancelled && flight.priority != .check {
            let settings = simulation.settings
            let isSilent =
                flight.received == 0 || simulation.now - flight.lastSign >= settings.fetching.stalledAfter
            guard let file = simulation.owners[flight.fetch.file], let machine = machine(of: file),
                machine.phase.isPresent(flight.fetch.file)
            else {
                Issue.record("fetched for an attempt that is over")
                continue
            }
            let isRetained = pinned.contains(file) || settings.finishesWhatWasRead
            #expect(!isSilent || isRetained || machine.opens > 0 || !machine.waiting.isEmpty)
        }
    }

    func check() {
        let (settings, flights) = (simulation.settings.fetching, simulation.scheduler.flights)
        let checks = flights.count { $0.priority == .check }
        #expect(checks <= settings.chunksInCheck)
        #expect(flights.count - checks <= settings.chunksInFlight)
        #expect(Set(flights.map(\.fetch)).count == flights.count, "one chunk is fetched twice at a time")
        let coming = flights.filter { !$0.hasArrived && $0.priority != .check }
        // This slow world makes relays distant.
        let ahead = settings.requestsAheadToFar
        for (_, flights) in Dictionary(grouping: coming, by: \.relay) {
            #expect(flights.count <= settings.chunksPerRelay + settings.moreFromFar + ahead)
        }
        for (file, machine) in simulation.files { check(file, machine) }
        #expect(flights.count { $0.priority == .background } <= settings.backgroundChunks)
        let fresh = flights.filter { $0.hasArrived || simulation.now - $0.lastSign < settings.stalledAfter }
        let bytes = fresh.reduce(0) { $0 + $1.bytes }
        // The late chunk of a silent relay may exceed the bound.
        #expect(
            bytes <= settings.bytesInFlight + settings.moreBytesFromFar
                + UInt64(ahead + settings.chunksInCheck) << 22
                || fresh.count == 1 || lateArrivals)
        let asked = simulation.files.values.flatMap { $0.waiting.readers.map(\.id) }
        #expect(Set(asked) == Set(waiting.keys))
        #expect(asked.count == waiting.count)
    }

    private func check(_ file: FileID, _ machine: Simulation.Machine) {
        #expect(!machine.isRetired, "a retired file stayed")
        #expect(machine.opens == opens[file, default: 0])
        #expect(machine.waiting.readers.allSatisfy { $0.deadline <= simulation.now + .seconds(5) })
        #expect(machine.waiting.isEmpty || machine.needsTicks, "nobody sees to its readers' deadlines")
        // A reader whose answer is known does not wait.
        switch machine.phase {
        case .awaitingCore: #expect(!machine.file.status.isReadable)
        case .whole, .failed, .retired: #expect(machine.waiting.isEmpty)
        case .idle, .preparing: break
        case .chunks(let download, let chunks):
            #expect(
                !machine.waiting.readers.contains {
                    chunks.isHopeless($0.goal) || chunks.satisfies($0.goal)
                })
            let available = chunks.states.indices.filter { chunks.states[$0].isAvailable }
            #expect(chunks.availableBytes == available.reduce(0) { $0 + chunks.layout.size(of: $1) })
            let here = chunks.states.indices.filter { chunks.states[$0].isHere }
            #expect(chunks.bytesHere == here.reduce(0) { $0 + chunks.layout.size(of: $1) })
            // File and scheduler agree on running fetches and checks.
            let inFlight = Set(chunks.states.indices.filter { chunks.states[$0] == .inFlight })
            let inCheck = Set(chunks.states.indices.filter { chunks.states[$0] == .inCheck })
            let settings = simulation.settings.fetching
            #expect(
                inFlight.count
                    <= settings.chunksPerFile + settings.moreFromFar + settings.requestsAheadToFar)
            let own = simulation.scheduler.flights.filter { $0.fetch.file === download && !$0.hasArrived }
            #expect(inFlight.union(inCheck) == Set(own.map(\.fetch.chunk)))
            #expect(inCheck == Set(own.filter { $0.priority == .check }.map(\.fetch.chunk)))
        }
    }

    /// Everything responds from now on, and every reader must be answered.
    mutating func settle() {
        var rounds = 0
        while !waiting.isEmpty || !pending.isEmpty || !inMemory.isEmpty || !resumed.isEmpty {
            rounds += 1
            guard rounds < 10_000 else {
                Issue.record("\(waiting.count) readers wait for ever")
                return
            }
            simulation.now += .milliseconds(10)
            if !inMemory.isEmpty || !resumed.isEmpty {
                freeMemory()
            } else if pending.isEmpty {
                simulation.tick()
            } else {
                carryOutOne(fails: false)
            }
            takeEffects()
            check()
        }
        #expect(simulation.scheduler.flights.isEmpty)
    }
}
