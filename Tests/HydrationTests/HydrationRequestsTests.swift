import ChatCore
import TestSupport
import Testing

@testable import Hydration

/// Replies to a command that waits for a file.
@Suite(.timeLimit(.minutes(10))) struct HydrationRequestsTests {
    @Test func repeatedRequestsReportProgressAndFailure() async throws {
        let stage = try Stage()
        let gate = Gate()
        let source = MemorySource(size: 4 * 65_536 - 100)
        source.behaviour.withLock { $0.gate = gate }
        let item = stage.offer(source)
        let requests = HydrationRequests(
            stage.hydrator, timeout: .milliseconds(500), slice: .milliseconds(20))
        var answers: [HydrationRequests.Answer] = []
        try await wait(until: "it is told that nothing comes") {
            answers.append(await requests.ask(item))
            return answers.last == .ended(.timedOut)
        }
        #expect(answers.dropLast().allSatisfy { $0 == .pending(progress: 0) })
        gate.open()
        try await wait(until: "all of it is here") { await requests.ask(item) == .ended(nil) }
        #expect(stage.hydrator.condition(of: FileID(1)).stage == .complete)
        await stage.hydrator.shutDown()
    }

    @Test func abandonedHydrationIsGivenUp() async throws {
        let stage = try Stage()
        let gate = Gate()
        let source = MemorySource(size: 4 * 65_536)
        source.behaviour.withLock { $0.gate = gate }
        let item = stage.offer(source)
        let requests = HydrationRequests(stage.hydrator, slice: .milliseconds(5))
        #expect(await requests.ask(item) == .pending(progress: 0))
        // A file that is open or awaited cannot be dehydrated.
        try await wait(until: "nobody waits for it") { stage.hydrator.dehydrate(FileID(1)) }
        await stage.hydrator.shutDown()
    }
}
