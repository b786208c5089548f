/// Which chunk is fetched next, over all files and relays: first what somebody waits for, file after file, then
/// what lies ahead of readers, then what is received for good, within the bounds of the settings. Pure: requests
/// and the ends of fetches go in with the time, grants come out.
///
/// Also ends fetches that nobody wants any more: each holds one of the few places of its relay, and on a silent
/// relay for ever.
struct FetchScheduler<File: Hashable & Sendable>: Sendable {
    struct Fetch: Hashable, Sendable {
        let file: File
        let chunk: Int
    }

    enum Action: Hashable, Sendable {
        case fetch(Fetch)
        /// To be told to end. It keeps its place until it has.
        case cancel(Fetch)
    }

    enum Priority: CaseIterable, Hashable, Sendable {
        case demand
        case ahead
        case background
    }

    struct Flight: Sendable {
        let fetch: Fetch
        let bytes: UInt64
        let relay: String
        let start: Duration
        let priority: Priority
        /// When it began, or when bytes of it last came.
        fileprivate(set) var lastSign: Duration
        /// Bytes of it that have come.
        fileprivate(set) var received: UInt64 = 0
        fileprivate(set) var isCancelled = false
        /// All of it has; its memory is still in use.
        fileprivate(set) var hasArrived = false

        /// What is left of it is less than what a far relay sends while the next request is on its way.
        var isNearlyHere: Bool { !hasArrived && received >= bytes / 4 * 3 }
    }

    private struct Requester {
        var layout: ChunkLayout
        var requests: FetchRequests
    }

    private let settings: HydrationSettings
    private var files: [File: Requester] = [:]
    /// Files that request something, who was served longest ago first.
    private var order: [File] = []
    private(set) var flights: [Flight] = []
    private var distances: RelayDistances

    init(settings: HydrationSettings) {
        self.settings = settings
        distances = RelayDistances(far: settings.farAfter)
    }

    // MARK: - Events

    /// What a file wants from now on, instead of what it wanted before.
    mutating func update(_ file: File, _ layout: ChunkLayout, _ requests: FetchRequests) {
        let wanted = files.updateValue(Requester(layout: layout, requests: requests), forKey: file)
        let wasEmpty = wanted?.requests.isEmpty ?? true
        if wasEmpty && !requests.isEmpty { order.append(file) }
        if !wasEmpty && requests.isEmpty { order.removeAll { $0 == file } }
    }

    /// A file fetches nothing any more: the attempt is over.
    mutating func remove(_ file: File) {
        if files.removeValue(forKey: file)?.requests.isEmpty == false { order.removeAll { $0 == file } }
    }

    /// So many bytes of a chunk have come: its relay has not fallen silent. True when it leaves its place to the
    /// next one.
    mutating func progressed(_ fetch: Fetch, received: UInt64, now: Duration) -> Bool {
        guard let index = flights.firstIndex(where: { $0.fetch == fetch }) else { return false }
        let before = flights[index]
        flights[index].lastSign = now
        flights[index].received = max(1, received)
        if before.received == 0 { distances.note(before.relay, firstByteAfter: now - before.start, now: now) }
        return !before.isNearlyHere && flights[index].isNearlyHere && distances.isFar(before.relay)
    }

    /// All of a chunk has come. Its memory is in use until `ended`.
    mutating func arrived(_ fetch: Fetch, now: Duration) {
        guard let index = flights.firstIndex(where: { $0.fetch == fetch }) else {
            return assertionFailure("a chunk arrived that was not being fetched")
        }
        assert(!flights[index].hasArrived, "a chunk arrived twice")
        flights[index].hasArrived = true
        flights[index].lastSign = now
        distances.note(flights[index].relay, chunkAfter: now - flights[index].start)
    }

    /// A fetch is over, well or badly, and its memory is free. True when it was cancelled before it had come.
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

    /// Whether time will end a fetch that nobody wants.
    var needsTicks: Bool { flights.contains(where: isUnwanted) }

    // MARK: - Decisions

    mutating func schedule(now: Duration) -> [Action] {
        var actions = cancelUnwanted(now: now)
        while let (fetch, priority) = next(now: now) {
            // Looked up by `next`.
            guard let layout = files[fetch.file]?.layout else { break }
            flights.append(
                Flight(
                    fetch: fetch, bytes: layout.size(of: fetch.chunk), relay: layout.relays[fetch.chunk],
                    start: now, priority: priority, lastSign: now))
            // Also without it: the file is asked last next time.
            order.removeAll { $0 == fetch.file }
            order.append(fetch.file)
            actions.append(.fetch(fetch))
        }
        return actions
    }

    private func next(now: Duration) -> (Fetch, Priority)? {
        guard flights.count < settings.chunksInFlight else { return nil }
        let active = activeBytes(now: now)
        for priority in Priority.allCases {
            if priority == .background,
                flights.count(where: { $0.priority == .background }) >= settings.backgroundChunks
            {
                continue
            }
            for file in order {
                if let chunk = candidate(of: file, priority, activeBytes: active) {
                    return (Fetch(file: file, chunk: chunk), priority)
                }
            }
        }
        return nil
    }

    /// The first requested chunk for which there is capacity. Only demand goes past one that must wait, since its
    /// relay may be silent; what nobody waits for comes in order, as it is checked.
    private func candidate(of file: File, _ priority: Priority, activeBytes: UInt64) -> Int? {
        guard let requester = files[file] else { return nil }
        let own = flights.filter { $0.fetch.file == file }
        let requested =
            switch priority {
            case .demand: requester.requests.demand
            case .ahead: requester.requests.ahead
            case .background: requester.requests.background
            }
        // One that was lost again before its memory was free is under way too.
        let open = requested.lazy.filter { chunk in !own.contains { $0.fetch.chunk == chunk } }
        let fits = { chunk in
            hasCapacity(for: chunk, of: requester.layout, own, priority, activeBytes: activeBytes)
        }
        return priority == .demand ? open.first(where: fits) : open.first.flatMap { fits($0) ? $0 : nil }
    }

    private func hasCapacity(
        for chunk: Int, of layout: ChunkLayout, _ own: [Flight], _ priority: Priority, activeBytes: UInt64
    ) -> Bool {
        let relay = layout.relays[chunk]
        var limit = settings.bytesInFlight - (priority == .demand ? 0 : settings.bytesForDemand)
        var more = 0
        if distances.isFar(relay) {
            let leaving = flights.count { $0.relay == relay && $0.isNearlyHere }
            more = settings.moreFromFar + min(leaving, settings.requestsAheadToFar)
            limit += settings.moreBytesFromFar
            limit += UInt64(min(leaving, settings.requestsAheadToFar)) * layout.size(of: chunk)
        }
        guard own.count(where: { !$0.hasArrived }) < settings.chunksPerFile + more else { return false }
        if priority != .demand && own.count >= HydrationSettings.chunksBeforeCheck + more { return false }
        guard
            flights.count(where: { $0.relay == relay && !$0.hasArrived }) < settings.chunksPerRelay + more
        else { return false }
        return activeBytes == 0 || activeBytes + layout.size(of: chunk) <= limit
    }

    /// Bytes of chunks that are coming, or in memory. One of which no byte came for long leaves its share to
    /// others.
    private func activeBytes(now: Duration) -> UInt64 {
        flights.lazy.filter { $0.hasArrived || now - $0.lastSign < settings.stalledAfter }
            .reduce(0) { $0 + $1.bytes }
    }

    /// Ends what nobody wants, but for a file that somebody may open again and whose bytes are just coming: a
    /// player closes and opens again, and what has come of a chunk would come a second time.
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
        if flight.hasArrived || flight.isCancelled { return false }
        return files[flight.fetch.file]?.requests.isWanted != true
    }
}
