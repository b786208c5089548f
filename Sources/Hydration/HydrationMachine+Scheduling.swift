import ChatCore

/// Which chunk is fetched next: first what somebody waits for, file after file, then what lies ahead of
/// readers, within the bounds of the settings.
extension HydrationMachine {
    private enum Reason {
        case demand
        case ahead
    }

    mutating func schedule(now: Duration) -> [Action] {
        var actions: [Action] = []
        while let next = next(.demand, now: now) ?? next(.ahead, now: now) {
            guard var entry = entries[next.file], case .chunks(var download) = entry.phase else { break }
            download.started(next.chunk)
            entry.phase = .chunks(download)
            entries[next.file] = entry
            flights.append(
                Flight(
                    file: next.file, chunk: next.chunk, bytes: download.layout.size(of: next.chunk),
                    relay: download.layout.relays[next.chunk], lastSign: now))
            leaveRotation(next.file)
            rotation.append(next.file)
            actions.append(.fetch(next.file, entry.generation, chunk: next.chunk))
        }
        return actions
    }

    /// A fetch has ended, well or badly.
    mutating func landed(_ id: FileID, _ chunk: Int) {
        if let index = flights.firstIndex(where: { $0.file == id && $0.chunk == chunk }) {
            flights.remove(at: index)
        }
    }

    private func next(_ reason: Reason, now: Duration) -> (file: FileID, chunk: Int)? {
        guard flights.count < settings.chunksInFlight else { return nil }
        for id in rotation {
            guard let entry = entries[id], !entry.isRemoved, case .chunks(let download) = entry.phase,
                download.inFlight < settings.chunksPerFile,
                let chunk = candidate(reason, entry, download, now: now),
                fits(chunk, of: download.layout, reason, now: now)
            else { continue }
            return (id, chunk)
        }
        return nil
    }

    private func candidate(
        _ reason: Reason, _ entry: Entry, _ download: ChunkDownload, now: Duration
    ) -> Int? {
        switch reason {
        case .demand:
            for waiter in entry.waiters {
                if let chunk = download.missing(for: waiter.range) { return chunk }
            }
            return nil
        case .ahead:
            return download.ahead(entry.readAhead.windows(most: settings.chunksAhead), now: now)
        }
    }

    private func fits(_ chunk: Int, of layout: ChunkLayout, _ reason: Reason, now: Duration) -> Bool {
        let relay = layout.relays[chunk]
        guard flights.lazy.filter({ $0.relay == relay }).count < settings.chunksPerRelay else { return false }
        let active = flights.lazy.filter { now - $0.lastSign < settings.stalledAfter }
            .reduce(0 as UInt64) { $0 + $1.bytes }
        let limit = settings.bytesInFlight - (reason == .ahead ? settings.bytesForDemand : 0)
        return active == 0 || active + layout.size(of: chunk) <= limit
    }
}
