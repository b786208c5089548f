/// A network line between a client and a relay, the same in both directions.
struct LineSettings: Sendable {
    /// How long a byte is on its way.
    var delay: Duration = .milliseconds(40)
    /// Bytes a second, of all connections together.
    var rate = 100_000_000
    /// What a connection may have on its way at first, in bytes: ten segments (RFC 6928).
    var firstWindow = 14_600
    /// The most that a connection may have on its way: a sender's buffer is no larger by default (tcp_wmem).
    var maxWindow = 4 << 20

    var roundTrip: Duration { delay * 2 }

    /// How long `count` bytes need by the rate alone.
    func time(for count: Int) -> Duration { .nanoseconds(count * 1_000_000_000 / rate) }

    /// How long `count` bytes of payload need from when the first of them leaves until the last has left: a round
    /// trip for each window but the last, and that one's bytes. In TLS records and HTTP/2 frames of 16 KiB, whose
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

    /// Rounds of one window each, from `window` on, doubled after each, in which `count` bytes go. The windows of
    /// all rounds are full, as slow start has it. `window` becomes the next round's.
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
