import ChatCore

/// Fetches that nobody wants any more: the last reader has gone and the file is not kept for good, or the
/// attempt they belong to is over. Each holds one of the few places of its relay, and on a silent relay for
/// ever.
extension HydrationMachine {
    /// Ends them, but for those of a file that somebody may open again and whose bytes are just coming: a player
    /// closes and opens again, and what has come of a chunk would come a second time.
    mutating func cancelUnwanted(now: Duration) -> [Action] {
        var actions: [Action] = []
        for index in flights.indices where isUnwanted(flights[index]) {
            let flight = flights[index]
            let isComing = flight.hasBytes && now - flight.lastSign < settings.stalledAfter
            if isComing && current(flight.file, flight.generation) != nil { continue }
            flights[index].isCancelled = true
            actions.append(.cancel(flight.file, flight.generation, chunk: flight.chunk))
        }
        return actions
    }

    /// Whether time will end a fetch that nobody wants.
    var hasUnwantedFlights: Bool { flights.contains(where: isUnwanted) }

    func isCancelled(_ id: FileID, _ generation: Generation, chunk: Int) -> Bool {
        flights.contains { $0.isOf(id, generation, chunk) && $0.isCancelled }
    }

    private func isUnwanted(_ flight: Flight) -> Bool {
        if flight.isHere || flight.isCancelled { return false }
        guard let entry = current(flight.file, flight.generation), case .chunks(let download) = entry.phase
        else { return true }
        if entry.isRemoved { return true }
        return entry.opens == 0 && entry.waiters.isEmpty && !wantsWhole(entry, download)
    }
}
