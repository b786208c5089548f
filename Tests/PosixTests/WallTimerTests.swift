import Base
import Posix
import TestSupport
import Testing

@Suite struct WallTimerTests {
    @Test func onlyTheLastTimeCallsBack() async throws {
        let count = Lock(0)
        let timer = try WallTimer { count.withLock { $0 += 1 } }
        let now = SystemWallClock().now()
        // Replaced and cleared.
        timer.set(now.advanced(by: .seconds(3600)))
        timer.set(nil)
        timer.set(now.advanced(by: .seconds(-5)))
        try await wait(until: "what has been is told") { count.withLock { $0 } == 1 }
        timer.set(SystemWallClock().now().advanced(by: .milliseconds(30)))
        try await wait(until: "it has come") { count.withLock { $0 } == 2 }
        timer.set(now.advanced(by: .seconds(3600)))
        timer.stop()
        timer.stop()
        #expect(count.withLock { $0 } == 2)
    }
}
