import Fuse
import Hydration
import Metrics
import Outbox

/// The counters, latencies and queue lengths of a mount. Reads memory, and the agent's database for waiting messages.
struct MountMetrics: Sendable {
    private let requests: RequestMetrics
    private let hydrator: Hydrator
    private let outbox: Outbox
    private let core: MountedCore

    init(_ parts: MountParts) {
        requests = parts.requests
        hydrator = parts.hydrator
        outbox = parts.outbox
        core = parts.core
    }

    func families() async -> [MetricFamily] {
        requests.families + reading + transferred + [drafts] + (await agent())
    }

    private var reading: [MetricFamily] {
        let activity = hydrator.activity
        let reads = [("hit", activity.hits), ("miss", activity.misses), ("failure", activity.failures)]
        return [
            MetricFamily(
                "chatfs_cache_reads", .counter, "Reads of received files, by whether the bytes were here.",
                reads.map { MetricFamily.Sample($0.1, ["result": $0.0]) }),
            MetricFamily(
                "chatfs_cache_evictions", .counter, "Files whose bytes left the cache.",
                [MetricFamily.Sample(activity.evictions)]),
            MetricFamily(
                "chatfs_cache_bytes", .gauge, unit: .bytes, "Bytes in the cache.",
                [MetricFamily.Sample(activity.cachedBytes)]),
            MetricFamily(
                "chatfs_download_files", .gauge, "Files that request chunks.",
                [MetricFamily.Sample(UInt64(activity.waitingFiles))]),
            MetricFamily(
                "chatfs_download_chunks", .gauge, "Chunks that are being fetched.",
                [MetricFamily.Sample(UInt64(activity.fetchedChunks))]),
        ]
    }

    private var transferred: [MetricFamily] {
        let bytes = core.client.transferred
        return [
            MetricFamily(
                "chatfs_fetched_bytes", .counter, unit: .bytes, "Bytes of chunks fetched from relays.",
                [MetricFamily.Sample(bytes.fetched)]),
            MetricFamily(
                "chatfs_sent_bytes", .counter, unit: .bytes, "Bytes of chunks sent to relays.",
                [MetricFamily.Sample(bytes.sent)]),
        ]
    }

    private var drafts: MetricFamily {
        let counts = Dictionary(grouping: outbox.drafts(), by: \.state).mapValues(\.count)
        return MetricFamily(
            "chatfs_outbox_files", .gauge, "Files on their way out, by state.",
            DraftState.allCases.filter(\.isKept).map {
                MetricFamily.Sample(UInt64(counts[$0] ?? 0), ["state": $0.rawValue])
            })
    }

    /// Empty for an official core, and while the agent's database is busy.
    private func agent() async -> [MetricFamily] {
        guard let waiting = try? await core.waiting?() else { return [] }
        return [
            MetricFamily(
                "chatfs_agent_messages", .gauge, "Messages that no server has accepted so far.",
                [MetricFamily.Sample(UInt64(waiting.messages.values.reduce(0, +)))]),
            MetricFamily(
                "chatfs_agent_connections", .gauge, "Connected messaging servers.",
                [MetricFamily.Sample(UInt64(waiting.connections))]),
        ]
    }
}
