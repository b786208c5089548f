/// Values with sizes in memory up to a limit; the oldest are evicted first. A pure value.
struct RecentBytes<Key: Hashable, Value> {
    private var values: [Key: (value: Value, size: Int)] = [:]
    private var order: [Key] = []
    private var used = 0
    private let limit: Int

    /// - Parameter limit: Maximum total size in bytes.
    init(limit: Int) { self.limit = limit }

    subscript(key: Key) -> Value? { values[key]?.value }

    mutating func add(_ value: Value, ofSize size: Int, for key: Key) {
        remove(key)
        values[key] = (value, size)
        order.append(key)
        used += size
        // Keep the newest even if it exceeds the limit: a reader is about to use it.
        while used > limit, order.count > 1 { remove(order[0]) }
    }

    private mutating func remove(_ key: Key) {
        guard let old = values.removeValue(forKey: key) else { return }
        used -= old.size
        order.removeAll { $0 == key }
    }
}
