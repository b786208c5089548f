/// The room for another chunk beside those in flight: places of its file, places at its relay, and memory. A value of
/// one decision of `FetchScheduler`.
struct FetchCapacity<File: Hashable & Sendable> {
    typealias Flight = FetchFlight<File>

    struct Chunk {
        let file: File
        let size: UInt64
        let relay: String
        /// A reader waits for it.
        let isDemanded: Bool
        /// `FetchRequests.isInOrder` of its file.
        let isInOrder: Bool
    }

    private let settings: FetchSettings
    private let distances: RelayDistances
    /// The flights that are no checks.
    private let fetches: [Flight]
    /// The flights whose memory counts.
    private let active: [Flight]
    /// Nearly complete chunks of far relays.
    private let leaving: [Flight]
    private let isInOrder: (Flight) -> Bool

    init(
        _ settings: FetchSettings, _ distances: RelayDistances, fetches: [Flight], active: [Flight],
        isInOrder: @escaping (Flight) -> Bool
    ) {
        (self.settings, self.distances) = (settings, distances)
        (self.fetches, self.active, self.isInOrder) = (fetches, active, isInOrder)
        leaving = fetches.filter { $0.isNearlyHere && distances.isFar($0.relay) }
    }

    func admits(_ chunk: Chunk) -> Bool {
        hasPlaceInFile(chunk) && hasPlaceAtRelay(chunk) && hasMemory(chunk)
    }

    /// Number of additional chunks in flight, which fill the line to a far relay.
    private func additionalPlaces(at relay: String) -> Int {
        guard distances.isFar(relay) else { return 0 }
        return settings.moreFromFar + min(leaving.count { $0.relay == relay }, settings.requestsAheadToFar)
    }

    private func hasPlaceInFile(_ chunk: Chunk) -> Bool {
        let own = fetches.filter { $0.fetch.file == chunk.file }
        let more = additionalPlaces(at: chunk.relay)
        return own.count(where: { !$0.hasArrived }) < settings.chunksPerFile + more
            && (chunk.isDemanded || own.count < FetchSettings.chunksInMemory + more)
    }

    private func hasPlaceAtRelay(_ chunk: Chunk) -> Bool {
        let others = fetches.filter { $0.relay == chunk.relay && !$0.hasArrived }
        let free = settings.chunksPerRelay + additionalPlaces(at: chunk.relay) - others.count
        guard free == 1, chunk.isInOrder else { return free > 0 }
        // The last place stays free, unless others fill the relay: each place that they leave would go to them again.
        return !others.contains(where: isInOrder)
    }

    private func hasMemory(_ chunk: Chunk) -> Bool {
        let reserved = chunk.isDemanded ? 0 : settings.bytesForDemand
        let limit = additionalBytes(at: chunk.relay) + (settings.bytesInFlight - reserved)
        guard Self.fits(chunk, beside: active, limit) else { return false }
        guard distances.isNear(chunk.relay, within: settings.nearWithin) else { return true }
        return Self.fits(
            chunk, beside: active.filter { $0.relay == chunk.relay }, settings.bytesFromNear - reserved)
    }

    /// Chunks of far relays use the additional bytes first. All files and relays have the same limit, because a chunk
    /// with a lower one would wait while others follow each other.
    private func additionalBytes(at relay: String) -> UInt64 {
        let additional = leaving.prefix(settings.requestsAheadToFar)
            .reduce(settings.moreBytesFromFar) { $0 + $1.bytes }
        guard !distances.isFar(relay) else { return additional }
        return min(Self.bytes(of: active.filter { distances.isFar($0.relay) }), additional)
    }

    private static func fits(_ chunk: Chunk, beside flights: [Flight], _ limit: UInt64) -> Bool {
        flights.isEmpty || bytes(of: flights) + chunk.size <= limit
    }

    private static func bytes(of flights: [Flight]) -> UInt64 { flights.reduce(0) { $0 + $1.bytes } }
}
