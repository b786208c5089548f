import Testing

@testable import chatfs_bench

@Suite("A delay line")
struct LinePathTests {
    /// 10 ms each way, a megabyte per second, an initial window of one thousand bytes.
    private let settings = LineSettings(
        delay: .milliseconds(10), rate: 1_000_000, firstWindow: 1000, maxWindow: 8000)
    private let start = ContinuousClock.now

    private func at(_ milliseconds: Double) -> LinePath.Instant { start + .microseconds(milliseconds * 1000) }

    @Test("acknowledgements come one delay after arrival")
    func single() {
        var (path, line) = (LinePath(settings), SharedLine(settings))
        #expect(path.allowance(at: start) == 1000)
        path.send(1000, at: start, into: &line)
        #expect(path.allowance(at: start) == 0 && path.nextEvent == at(11))
        #expect(path.arrived(by: at(10.9)) == 0)
        #expect(path.arrived(by: at(11)) == 1000)
        path.take(1000, at: at(11))
        #expect(path.allowance(at: at(20.9)) == 0 && path.nextEvent == at(21))
        // The window grows by the acknowledged bytes.
        #expect(path.allowance(at: at(21)) == 2000)
        #expect(path.nextEvent == nil)
    }

    @Test("the window doubles up to its maximum")
    func slowStart() {
        var (path, line) = (LinePath(settings), SharedLine(settings))
        var (now, windows) = (start, [Int]())
        for _ in 0..<6 {
            let window = path.allowance(at: now)
            windows.append(window)
            path.send(window, at: now, into: &line)
            now += .milliseconds(20)
            path.take(path.arrived(by: now), at: now)
            now += .milliseconds(20)
        }
        #expect(windows == [1000, 2000, 4000, 8000, 8000, 8000])
    }

    @Test("connections share the rate in order")
    func shared() {
        var line = SharedLine(settings)
        var (first, second) = (LinePath(settings), LinePath(settings))
        first.send(1000, at: start, into: &line)
        second.send(500, at: start, into: &line)
        #expect(first.nextEvent == at(11) && second.nextEvent == at(11.5))
        // After a pause the line is free at once.
        second.send(500, at: at(100), into: &line)
        #expect(second.arrived(by: at(110.4)) == 500)
        #expect(second.arrived(by: at(110.5)) == 500)
    }

    @Test("a receiver that reads nothing stops its sender")
    func slowReceiver() {
        var (path, line) = (LinePath(settings), SharedLine(settings))
        path.send(1000, at: start, into: &line)
        #expect(path.arrived(by: at(50)) == 1000)
        #expect(path.allowance(at: at(1000)) == 0)
        path.take(400, at: at(1000))
        #expect(path.allowance(at: at(1010)) == 800)
    }

    @Test("rounds of slow start are counted")
    func rounds() {
        var window = 1000
        #expect(settings.rounds(for: 1, window: &window) == 1)
        window = 1000
        #expect(settings.rounds(for: 1000, window: &window) == 1 && window == 2000)
        #expect(settings.rounds(for: 7000, window: &window) == 3 && window == 8000)
        #expect(settings.rounds(for: 16_000, window: &window) == 2 && window == 8000)
        // With the headers of one record, in windows of 1000, 2000 and so on.
        #expect(settings.time(forPayload: 900, window: 1000) == settings.time(for: 931))
        #expect(
            settings.time(forPayload: 1000, window: 1000) == settings.roundTrip + settings.time(for: 31))
        let payload = settings.time(forPayload: 5000, window: 1000)
        #expect(payload == settings.roundTrip * 2 + settings.time(for: 2031))
    }
}
