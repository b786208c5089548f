#if DEBUG
    import Glibc

    /// Which classes of mutexes were locked while which others were held. Any thread.
    final class LockGraph: @unchecked Sendable {
        struct Edge: Hashable {
            /// Held.
            let first: Int
            /// Locked meanwhile.
            let second: Int
        }

        // Safe: touched only while `mutex` is held. Not a `Lock`, which would ask this graph.
        private var followers: [Int: Set<Int>] = [:]
        private let mutex: UnsafeMutablePointer<pthread_mutex_t>

        init() {
            mutex = .allocate(capacity: 1)
            pthread_mutex_init(mutex, nil)
        }

        deinit {
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
        }

        /// Notes an order, unless it contradicts the others.
        /// - Returns: the cycle that it would close, from `second` over those between to `second` again.
        func add(_ edge: Edge) -> [Int]? {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            if let path = path(from: edge.second, to: edge.first) { return path + [edge.second] }
            followers[edge.first, default: []].insert(edge.second)
            return nil
        }

        /// A shortest way, both ends included.
        private func path(from start: Int, to end: Int) -> [Int]? {
            var paths = [[start]]
            var seen: Set<Int> = [start]
            var next = 0
            while next < paths.count {
                let path = paths[next]
                next += 1
                if path[path.count - 1] == end { return path }
                for follower in followers[path[path.count - 1]] ?? [] where seen.insert(follower).inserted {
                    paths.append(path + [follower])
                }
            }
            return nil
        }
    }
#endif
