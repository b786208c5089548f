/// Chooses the next chunks over all files and relays: chunks for waiting readers first, file after file, then
/// read-ahead and whole downloads, then files received in the background, within the limits of the settings
/// (`FetchCapacity`). After a number of chunks of read-ahead and whole downloads the background has a turn, since such
/// downloads may follow each other for hours. Checks of chunks on the disk wait for no relay. Pure: requests and results
/// come in with the time; grants go out.
///
/// Also cancels unwanted fetches, because each holds one of the few slots of its relay, on a silent relay for
/// ever.
struct FetchScheduler<File: Hashable & Sendable>: Sendable {
    typealias Fetch = RequestedChunk<File>
    typealias Flight = FetchFlight<File>
    typealias Priority = FetchPriority

    enum Action: Hashable, Sendable {
        case fetch(Fetch)
        /// Cancel the fetch. It holds its slot until it has ended.
        case cancel(Fetch)
    }

    private struct Requester {
        var layout: ChunkLayout
        var requests: FetchRequests
    }

    private let settings: FetchSettings
    private var files: [File: Requester] = [:]
    /// Files with requests, least recently served first.
    private var order: [File] = []
    private(set) var flights: [Flight] = []
    /// The flights that are no checks.
    private var fetches: [Flight] { flights.filter { $0.priority != .check } }
    private var distances: RelayDistances
    /// Number of chunks of priority `ahead` since the last one of the background.
    private var aheadInARow = 0

    init(settings: FetchSettings) {
        self.settings = settings
        distances = RelayDistances(far: settings.farAfter)
    }

    /// Number of files that request chunks, and of chunks that are being fetched.
    var load: (files: Int, chunks: Int) { (order.count, flights.count) }

    // MARK: - Events

    /// Replaces the requests of a file.
    mutating func update(_ file: File, _ layout: ChunkLayout, _ requests: FetchRequests) {
        let wanted = files.updateValue(Requester(layout: layout, requests: requests), forKey: file)
        let wasEmpty = wanted?.requests.isEmpty ?? true
        if wasEmpty && !requests.isEmpty { order.append(file) }
        if !wasEmpty && requests.isEmpty { order.removeAll { $0 == file } }
    }

    /// Removes a file whose attempt is over.
    mutating func remove(_ file: File) {
        if files.removeValue(forKey: file)?.requests.isEmpty == false { order.removeAll { $0 == file } }
    }

    /// Records received bytes. Returns true if the next request may take this slot.
    mutating func progressed(_ fetch: Fetch, received: UInt64, now: Duration) -> Bool {
        guard let index = flights.firstIndex(where: { $0.fetch == fetch }) else { return false }
        let before = flights[index]
        flights[index].lastSign = now
        flights[index].received = max(1, received)
        if before.received == 0 { distances.note(before.relay, firstByteAfter: now - before.start, now: now) }
        return !before.isNearlyHere && flights[index].isNearlyHere && distances.isFar(before.relay)
    }

    /// Records a complete chunk. Its memory is in use until `ended`.
    mutating func arrived(_ fetch: Fetch, now: Duration) {
        guard let index = flights.firstIndex(where: { $0.fetch == fetch }) else {
            return assertionFailure("a chunk arrived that was not being fetched")
        }
        assert(!flights[index].hasArrived, "a chunk arrived twice")
        flights[index].hasArrived = true
        flights[index].lastSign = now
        // From the disk: a check, or a chunk that an earlier attempt left.
        if flights[index].received == 0 { return }
        distances.note(flights[index].relay, chunkAfter: now - flights[index].start)
    }

    /// Ends a fetch and frees its memory. Returns true if it was cancelled before the chunk was complete.
    @discardableResult
    mutating func ended(_ fetch: Fetch) -> Bool {
        guard let index = flights.firstIndex(where: { $0.fetch == fetch }) else {
            assertionFailure("a fetch ended that had not begun")
            return false
        }
        let flight = flights.remove(at: index)
        return flight.isCancelled && !flight.hasArrived
    }

    func isCancelled(_ fetch: Fetch) -> Bool { flights.contains { $0.fetch == fetch && $0.isCancelled } }

    /// True if a later tick may cancel an unwanted fetch.
    var needsTicks: Bool { flights.contains(where: isUnwanted) }

    // MARK: - Decisions

    mutating func schedule(now: Duration) -> [Action] {
        var actions = cancelUnwanted(now: now)
        while let (fetch, priority) = next(now: now) {
            // Found by `next`.
            guard let layout = files[fetch.file]?.layout else { break }
            if priority == .ahead { aheadInARow += 1 }
            if priority == .background { aheadInARow = 0 }
            flights.append(
                Flight(
                    fetch: fetch, bytes: layout.size(of: fetch.chunk), relay: layout.relays[fetch.chunk],
                    start: now, priority: priority, lastSign: now))
            // Also if it has no more requests. The file is served last next time.
            order.removeAll { $0 == fetch.file }
            order.append(fetch.file)
            actions.append(.fetch(fetch))
        }
        return actions
    }

    private func next(now: Duration) -> (Fetch, Priority)? {
        let capacity = FetchCapacity(
            settings, distances, fetches: fetches, active: activeFlights(now: now), isInOrder: isInOrder)
        let priorities =
            aheadInARow < settings.aheadPerBackground ? Priority.allCases : Priority.backgroundTurn
        for priority in priorities where isOpen(priority) {
            for file in order {
                if let chunk = candidate(of: file, priority, capacity) {
                    return (Fetch(file: file, chunk: chunk), priority)
                }
            }
        }
        return nil
    }

    private func isOpen(_ priority: Priority) -> Bool {
        let running = flights.count { $0.priority == priority }
        if priority == .check { return running < settings.chunksInCheck }
        return fetches.count < settings.chunksInFlight
            && (priority != .background || running < settings.backgroundChunks)
    }

    /// Returns the first requested chunk that fits the limits. Only demand skips a chunk that must wait,
    /// since its relay may be silent; other chunks stay in the order of storage.
    private func candidate(of file: File, _ priority: Priority, _ capacity: FetchCapacity<File>) -> Int? {
        guard let requester = files[file] else { return nil }
        let requested =
            switch priority {
            case .check: requester.requests.checks
            case .demand: requester.requests.demand
            case .ahead: requester.requests.ahead
            case .background: requester.requests.background
            }
        // A lost chunk whose memory is still in use counts as in flight.
        let open = requested.lazy.filter { chunk in
            !flights.contains { $0.fetch == Fetch(file: file, chunk: chunk) }
        }
        let fits = { (chunk: Int) -> Bool in
            priority == .check
                || capacity.admits(
                    FetchCapacity<File>.Chunk(
                        file: file, size: requester.layout.size(of: chunk),
                        relay: requester.layout.relays[chunk], isDemanded: priority == .demand,
                        isInOrder: requester.requests.isInOrder))
        }
        return priority == .demand ? open.first(where: fits) : open.first.flatMap { fits($0) ? $0 : nil }
    }

    /// The chunks in flight or in memory, without stalled chunks.
    private func activeFlights(now: Duration) -> [Flight] {
        flights.filter { now - $0.lastSign < settings.stalledAfter || $0.hasArrived && !isInOrder($0) }
    }

    private func isInOrder(_ flight: Flight) -> Bool { files[flight.fetch.file]?.requests.isInOrder == true }

    /// Cancels unwanted fetches, except those that are receiving bytes for a known file. A player closes and
    /// reopens a file, and received bytes would be lost.
    private mutating func cancelUnwanted(now: Duration) -> [Action] {
        var actions: [Action] = []
        for index in flights.indices where isUnwanted(flights[index]) {
            let flight = flights[index]
            let isComing = flight.received > 0 && now - flight.lastSign < settings.stalledAfter
            if isComing && files[flight.fetch.file] != nil { continue }
            flights[index].isCancelled = true
            actions.append(.cancel(flight.fetch))
        }
        return actions
    }

    private func isUnwanted(_ flight: Flight) -> Bool {
        if flight.hasArrived || flight.isCancelled || flight.priority == .check { return false }
        return files[flight.fetch.file]?.requests.isWanted != true
    }
}
