import Testing

@testable import Notifications

@Suite("The connection to the notification service")
struct ServiceConnectionTests {
    private static let beginning = ContinuousClock.now

    private static func at(_ seconds: Int) -> ContinuousClock.Instant { beginning + .seconds(seconds) }

    private static func make() -> ServiceConnection { ServiceConnection(at: beginning) }

    @Test("connecting waits for the first notification")
    func first() {
        var service = Self.make()
        #expect(service.step(at: Self.at(0), isWanted: false, tellsCount: false) == nil)
        #expect(service.wake(toTellAt: nil, tellsCount: false) == nil)
        #expect(service.wake(toTellAt: Self.at(7), tellsCount: false) == Self.at(7))
        #expect(service.step(at: Self.at(7), isWanted: true, tellsCount: false) == .start)
        #expect(service.step(at: Self.at(8), isWanted: true, tellsCount: true) == nil, "one at a time")
        #expect(!service.isReady)
    }

    @Test("an unresponsive bus is retried with backoff")
    func silentBus() {
        var service = Self.make()
        var now = Self.beginning
        var delays: [Duration] = []
        for _ in 0..<12 {
            #expect(service.step(at: now, isWanted: true, tellsCount: false) == .start)
            now += ServiceConnection.timeout
            #expect(service.wake(toTellAt: nil, tellsCount: false) == now)
            #expect(service.step(at: now, isWanted: true, tellsCount: false) == .stop)
            let next = service.wake(toTellAt: now, tellsCount: false) ?? now
            delays.append(now.duration(to: next))
            now = next
        }
        #expect(delays == delays.sorted() && delays[0] > .zero && delays[11] == .seconds(300))
    }

    @Test("a count alone tries the bus once")
    func countAlone() {
        var service = Self.make()
        #expect(service.wake(toTellAt: nil, tellsCount: true) == Self.beginning)
        #expect(service.step(at: Self.at(0), isWanted: false, tellsCount: true) == .start)
        service.ended(at: Self.at(1))
        #expect(service.wake(toTellAt: nil, tellsCount: true) == nil)
        #expect(service.step(at: Self.at(1000), isWanted: false, tellsCount: true) == nil)
    }

    @Test("a new notification shortens the retry delay")
    func renewed() {
        var service = Self.make()
        for second in 0..<10 {
            _ = service.step(at: Self.at(second * 1000), isWanted: true, tellsCount: false)
            service.ended(at: Self.at(second * 1000))
        }
        let now = Self.at(9000)
        #expect(service.wake(toTellAt: now, tellsCount: false).map { $0 > now + .seconds(100) } == true)
        service.renew(at: now)
        #expect(service.wake(toTellAt: now, tellsCount: false).map { $0 <= now + .seconds(5) } == true)
        // The first attempt follows at once.
        var new = Self.make()
        new.renew(at: now)
        #expect(new.wake(toTellAt: now, tellsCount: false) == now)
    }

    @Test("each answer leads from each state as listed")
    func transitions() {
        var starting = Self.make()
        _ = starting.step(at: Self.at(0), isWanted: true, tellsCount: false)
        var waiting = starting
        waiting.noService()
        var ready = starting
        ready.ready(["body-markup", "icon-static"])
        #expect(ready.state == .ready(showsMarkup: true, showsActions: false))
        for state in [Self.make(), starting, waiting, ready] {
            var next = state
            next.ready(["actions"])
            #expect(next.state == .ready(showsMarkup: false, showsActions: true))
            next = state
            next.noService()
            #expect(next.state == .waiting)
            #expect(next.wake(toTellAt: Self.at(1), tellsCount: true) == nil, "the bus tells of a service")
            #expect(next.step(at: Self.at(5000), isWanted: true, tellsCount: true) == nil)
            next = state
            next.ended(at: Self.at(50))
            guard case .absent(1, let until) = next.state else {
                Issue.record("\(state.state) ended as \(next.state)")
                continue
            }
            #expect(until > Self.at(50))
        }
    }
}
