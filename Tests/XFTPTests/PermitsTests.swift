import Base
import TestSupport
import Testing

@testable import XFTP

@Suite struct PermitsTests {
    @Test func noMoreTasksRunAtOnceThanPermitsExist() async throws {
        let permits = Permits(count: 3)
        let running = Lock((now: 0, most: 0))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    try await permits.take()
                    running.withLock { running in
                        running.now += 1
                        running.most = max(running.most, running.now)
                    }
                    await Task.yield()
                    running.withLock { $0.now -= 1 }
                    permits.give()
                }
            }
            try await group.waitForAll()
        }
        #expect(running.withLock { $0.most } <= 3)
        #expect(running.withLock { $0.now } == 0)
    }

    @Test func aCancelledWaitTakesNothingAway() async throws {
        let permits = Permits(count: 1)
        try await permits.take()
        let waiting = (0..<5).map { _ in Task { await code { try await permits.take() } } }
        for task in waiting { task.cancel() }
        for task in waiting { #expect(await task.value == .cancelled) }
        permits.give()
        try await permits.take()
    }

    @Test func permitsThatAreWithdrawnWhileTheyAreTakenDisappearWhenTheyComeBack() async throws {
        let permits = Permits(count: 4)
        for _ in 0..<3 { try await permits.take() }
        permits.withdraw(3)  // the free one and two of those that are out
        permits.give()
        permits.give()
        permits.give()
        try await permits.take()
        let another = Task { await code { try await permits.take() } }
        for _ in 0..<20 { await Task.yield() }
        another.cancel()
        #expect(await another.value == .cancelled, "one was left")
        permits.give()
        permits.give()
        try await permits.take()
        try await permits.take()
    }
}

@Suite struct SlowNetworkTests {
    @Test func aRelayThatDoesNotKeepUpIsAskedForLessAtOnceAndThenForMoreAgain() async throws {
        let chunk = someBytes(65_536)
        let relay = try ScriptedRelay(chunk: chunk, faults: [.stalling])
        let client = XFTPClient.forTests {
            $0.requestDeadline = .milliseconds(500)
            $0.deadlinePerKiB = .zero
            $0.connectionsPerRelay = 1
            $0.requestsPerConnection = 2
            $0.idleTime = .seconds(60)
        }
        let buffer = ChunkBuffer(capacity: chunk.count)
        try await client.fetch(relay.described(), into: buffer)
        #expect(client.requestsAllowed(at: relay.address) == 1)
        for _ in 0..<2 { try await client.fetch(relay.described(), into: buffer) }
        #expect(client.requestsAllowed(at: relay.address) == 2)
        for _ in 0..<9 { try await client.fetch(relay.described(), into: buffer) }
        #expect(client.requestsAllowed(at: relay.address) == 2, "never more than the settings say")
        await relay.stop()
    }
}
