#if DEBUG
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
        private let mutex = PthreadMutex()

        /// Notes an order, unless it contradicts the others.
        /// - Returns: the cycle that it would close, from `second` over those between to `second` again.
        func add(_ edge: Edge) -> [Int]? {
            mutex.lock()
            defer { mutex.unlock() }
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
