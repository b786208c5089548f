/// A network line between a client and a relay, equal in both directions.
struct LineSettings: Sendable {
    /// The delay of a byte.
    var delay: Duration = .milliseconds(40)
    /// The bytes per second of all connections together.
    var rate = 100_000_000
    /// The initial window in bytes: ten segments (RFC 6928).
    var firstWindow = 14_600
    /// The maximum window in bytes: the default maximum of a sender's buffer (tcp_wmem).
    var maxWindow = 4 << 20

    var roundTrip: Duration { delay * 2 }

    /// Returns the time for `count` bytes by the rate alone.
    func time(for count: Int) -> Duration { .nanoseconds(count * 1_000_000_000 / rate) }

    /// Returns the time for `count` bytes of payload from the departure of the first to that of the last: a round trip
    /// for each window but the last, and the bytes of that one. In TLS records and HTTP/2 frames of 16 KiB, whose
    /// headers make a chunk of 4 MiB larger than the largest window.
    func time(forPayload count: Int, window: Int) -> Duration {
        let headers = (count + 16_383) / 16_384 * (22 + 9)
        var (rounds, left, window) = (0, count + headers, window)
        while left > window {
            rounds += 1
            left -= window
            window = min(2 * window, maxWindow)
        }
        return roundTrip * rounds + time(for: left)
    }

    /// Returns the number of rounds for `count` bytes, with one full window each, which doubles after each as in slow
    /// start. `window` becomes that of the next round.
    func rounds(for count: Int, window: inout Int) -> Int {
        var (rounds, left) = (0, count)
        while left > 0 {
            rounds += 1
            left -= window
            window = min(window + min(window, window + left), maxWindow)
        }
        return rounds
    }
}
