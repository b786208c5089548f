import ChatCore

/// Which chunk is fetched next: first what somebody waits for, file after file, then what lies ahead of
/// readers, within the bounds of the settings.
extension HydrationMachine {
    private enum Reason {
        case demand
        case ahead
        /// What is received for good, and what failed and is tried again.
        case background
    }

    mutating func schedule(now: Duration) -> [Action] {
        var actions = cancelUnwanted(now: now)
        while let next = next(.demand, now: now) ?? next(.ahead, now: now) ?? next(.background, now: now) {
            guard var entry = entries[next.file], case .chunks(var download) = entry.phase else { break }
            download.started(next.chunk)
            entry.phase = .chunks(download)
            entries[next.file] = entry
            flights.append(
                Flight(
                    file: next.file, generation: entry.generation, chunk: next.chunk,
                    bytes: download.layout.size(of: next.chunk),
                    relay: download.layout.relays[next.chunk], start: now, lastSign: now,
                    isBackground: next.reason == .background))
            leaveRotation(next.file)
            rotation.append(next.file)
            actions.append(.fetch(next.file, entry.generation, chunk: next.chunk))
        }
        return actions
    }

    /// A fetch has ended, well or badly, and its memory is free.
    mutating func landed(_ id: FileID, _ generation: Generation, _ chunk: Int) {
        if let index = flights.firstIndex(where: { $0.isOf(id, generation, chunk) }) {
            flights.remove(at: index)
        }
    }

    private func next(
        _ reason: Reason, now: Duration
    ) -> (file: FileID, chunk: Int, reason: Reason)? {
        guard flights.count < settings.chunksInFlight else { return nil }
        if reason == .background && flights.count(where: \.isBackground) >= settings.backgroundChunks {
            return nil
        }
        for id in rotation {
            guard let entry = entries[id], !entry.isRemoved, case .chunks(let download) = entry.phase,
                download.inFlight < settings.chunksPerFile + settings.moreFromFar,
                let chunk = candidate(reason, entry, download, now: now),
                download.inFlight < settings.chunksPerFile + more(from: download.layout.relays[chunk]),
                reason == .demand || followsCheck(id, entry, download.layout.relays[chunk]),
                // Lost again before its memory was free: two flights of one chunk could not be told apart.
                !flights.contains(where: { $0.isOf(id, entry.generation, chunk) }),
                fits(chunk, of: download.layout, reason, now: now)
            else { continue }
            return (id, chunk, reason)
        }
        return nil
    }

    private func followsCheck(_ id: FileID, _ entry: Entry, _ relay: String) -> Bool {
        flights.count { $0.file == id && $0.generation == entry.generation }
            < HydrationSettings.chunksBeforeCheck + more(from: relay)
    }

    /// Chunks in flight beyond the bounds for those that are near.
    private func more(from relay: String) -> Int { distances.isFar(relay) ? settings.moreFromFar : 0 }

    private func candidate(
        _ reason: Reason, _ entry: Entry, _ download: ChunkDownload, now: Duration
    ) -> Int? {
        switch reason {
        case .demand:
            for case .bytes(let range) in entry.waiters.lazy.map(\.goal) {
                if let chunk = download.missing(for: range) { return chunk }
            }
            // Who waits for the whole is no reader: its file takes turns with what readers look ahead for.
            return nil
        case .ahead:
            if entry.waiters.contains(where: { $0.goal == .whole }) {
                return download.contentOffset == nil
                    ? download.missing(for: 0..<1) : download.rest(now: now)
            }
            if let chunk = download.ahead(entry.readAhead.windows(most: settings.chunksAhead), now: now) {
                return chunk
            }
            return pinned.contains(entry.file.id) ? download.rest(now: now) : nil
        case .background:
            if entry.opens > 0, let chunk = download.failedBefore(now: now) { return chunk }
            return wantsWhole(entry, download) ? download.rest(now: now) : nil
        }
    }

    /// Received to its end without a reader.
    func wantsWhole(_ entry: Entry, _ download: ChunkDownload) -> Bool {
        (isWished(entry) || !download.damaged.isEmpty) && download.dead == nil
    }

    private func fits(_ chunk: Int, of layout: ChunkLayout, _ reason: Reason, now: Duration) -> Bool {
        let relay = layout.relays[chunk]
        guard
            flights.lazy.filter({ $0.relay == relay && !$0.isHere }).count
                < settings.chunksPerRelay + more(from: relay)
        else { return false }
        let active = flights.lazy.filter { $0.isHere || now - $0.lastSign < settings.stalledAfter }
            .reduce(0 as UInt64) { $0 + $1.bytes }
        var limit = settings.bytesInFlight - (reason != .demand ? settings.bytesForDemand : 0)
        if distances.isFar(relay) { limit += settings.moreBytesFromFar }
        return active == 0 || active + layout.size(of: chunk) <= limit
    }
}
