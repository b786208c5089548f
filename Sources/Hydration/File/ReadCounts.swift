import Metrics

/// Counts reads by whether their bytes were on this machine, and evictions. Thread-safe; counting takes no lock.
final class ReadCounts: Sendable {
    private enum Index: Int, CaseIterable {
        case hits, misses, failures, evictions
    }

    private let counters = ShardedCounters(count: Index.allCases.count)

    func note(_ result: ReadResult) {
        switch result {
        case .filled, .ready: counters.add(to: Index.hits.rawValue)
        case .pending: counters.add(to: Index.misses.rawValue)
        case .failed: counters.add(to: Index.failures.rawValue)
        case .cancelled: break
        }
    }

    func noteEviction() { counters.add(to: Index.evictions.rawValue) }

    var hits: UInt64 { counters[Index.hits.rawValue] }
    var misses: UInt64 { counters[Index.misses.rawValue] }
    var failures: UInt64 { counters[Index.failures.rawValue] }
    var evictions: UInt64 { counters[Index.evictions.rawValue] }
}
