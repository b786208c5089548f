/// Which relays are far away on a wide line, by the shortest time that passed between a request for a chunk and its
/// first byte. The shortest: a request that waits behind others, or for its connection, takes longer than the way
/// does. On a narrow line a chunk takes long against the way, and few requests fill it.
struct RelayDistances: Sendable {
    private struct Distance {
        var shortest: Duration
        /// From the request to the last byte, of the last chunk.
        var chunk: Duration?
        var lastUse: Duration
    }

    /// What was learned is forgotten after so long without a chunk: the machine may be in another network.
    private static let memory = Duration.seconds(60)
    /// A line is wide when a chunk takes at most so many times the shortest time to a first byte.
    private static let wide = 8
    /// The names of relays come from outside.
    private static let maxRelays = 64

    private let far: Duration
    private var distances: [String: Distance] = [:]

    /// - Parameter far: relays whose first byte takes longer are far away.
    init(far: Duration) { self.far = far }

    /// Of a relay that nothing is known of: false.
    func isFar(_ relay: String) -> Bool {
        guard let distance = distances[relay], let chunk = distance.chunk else { return false }
        return distance.shortest > far && chunk <= distance.shortest * Self.wide
    }

    mutating func note(_ relay: String, chunkAfter time: Duration) { distances[relay]?.chunk = time }

    mutating func note(_ relay: String, firstByteAfter time: Duration, now: Duration) {
        let known = distances[relay].flatMap { now - $0.lastUse <= Self.memory ? $0 : nil }
        distances[relay] = Distance(
            shortest: min(known?.shortest ?? time, time), chunk: known?.chunk, lastUse: now)
        guard distances.count > Self.maxRelays,
            let oldest = distances.min(by: { $0.value.lastUse < $1.value.lastUse })?.key
        else { return }
        distances[oldest] = nil
    }
}
