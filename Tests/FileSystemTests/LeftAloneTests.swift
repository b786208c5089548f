import Base
import FileSystem
import Glibc
import Namespace
import Outbox
import TestSupport
import Testing

/// The real clock, with hours added by the test.
private final class HourClock: OutboxClock {
    private let system = SystemOutboxClock()
    private let state = Lock((hours: 0, calls: [@Sendable () -> Void]()))

    func now() -> Duration { system.now() + .seconds(3600 * state.withLock { $0.hours }) }

    func call(after delay: Duration, _ body: @escaping @Sendable () -> Void) {
        guard delay >= .seconds(3600) else { return system.call(after: delay, body) }
        state.withLock { $0.calls.append(body) }
    }

    func letAnHourPass() {
        let calls = state.withLock { state in
            state.hours += 1
            defer { state.calls = [] }
            return state.calls
        }
        for call in calls { call() }
    }
}

@Suite("Abandoned drafts")
struct LeftAloneTests {
    private typealias Fixture = FileSystemFixture

    @Test("an incomplete draft is recovered while mounted")
    func incomplete() async throws {
        let clock = HourClock()
        let fixture = try await Fixture.make(clock: clock)
        let (_, handle) = try await fixture.fileSystem.create(
            EntryName("half.bin"), in: fixture.id("bob"), flags: O_WRONLY
        ).value()
        _ = try [UInt8]("half".utf8).withUnsafeBytes {
            try fixture.fileSystem.write(handle, $0, at: 0, by: getpid()).get()
        }
        // Larger than the limit: the rest of the writer's bytes is missing.
        let tooMuch = [UInt8](repeating: 1, count: 1).withUnsafeBytes {
            fixture.fileSystem.write(handle, $0, at: 1 << 62, by: getpid())
        }
        #expect(throws: FileSystemError.self) { try tooMuch.get() }
        fixture.fileSystem.release(handle)
        #expect(try fixture.attribute("user.chatfs.error", of: "bob/half.bin")?.contains("7 days") == true)
        try await wait(until: "it has moved") {
            clock.letAnHourPass()
            return (try? fixture.id(".chatfs/recovered/half.bin")) != nil
        }
        #expect((try? fixture.id("bob/half.bin")) == nil)
        #expect(try fixture.attribute("user.chatfs.state", of: ".chatfs/recovered/half.bin") == "recovered")
        #expect(try await fixture.read(".chatfs/recovered/half.bin", count: 10) == Array("half".utf8))
        try await fixture.write([1], to: "half.bin")
        await fixture.end()
    }
}
