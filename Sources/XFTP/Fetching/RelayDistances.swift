/// Detects relays with a long round trip on a fast line, by the shortest time from a request to its first
/// byte. Queues and new connections only make that time longer. On a slow line a chunk takes long compared
/// with the round trip, so few requests fill it.
struct RelayDistances: Sendable {
    private struct Distance {
        var shortest: Duration
        /// Time from the request to the last byte, for the last chunk.
        var chunk: Duration?
        var lastUse: Duration
    }

    /// Time after which a measurement is forgotten, because the machine may be in another network.
    private static let memory = Duration.seconds(60)
    /// A line is fast if a chunk takes at most this many times the shortest time to a first byte.
    private static let wide = 8
    /// A limit, because relay names come from messages.
    private static let maxRelays = 64

    private let far: Duration
    private var distances: [String: Distance] = [:]

    /// - Parameter far: Time to the first byte above which a relay is far.
    init(far: Duration) { self.far = far }

    /// Returns false for unknown relays.
    func isFar(_ relay: String) -> Bool {
        guard let distance = distances[relay], let chunk = distance.chunk else { return false }
        return distance.shortest > far && chunk <= distance.shortest * Self.wide
    }

    /// Returns true if the last chunk took less than `time`, so that few requests fill the line. Returns false for
    /// far and unknown relays.
    func isNear(_ relay: String, within time: Duration) -> Bool {
        guard let distance = distances[relay], let chunk = distance.chunk else { return false }
        return distance.shortest <= far && chunk < time
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
