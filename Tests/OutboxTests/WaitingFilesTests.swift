import ChatCore
import TestSupport
import Testing

@testable import Outbox

@Suite struct WaitingFilesTests {
    @Test func waitingFilesAreCountedWithoutOutbox() async throws {
        let bench = try Workbench()
        bench.core.state.withLock { state in
            state.refusals = (0..<9).map { _ in ChatError(.file(.noRelay), "No relay is configured.") }
        }
        for text in ["a", "b"] { try bench.write([1], to: text) }
        // Neither of these is to be sent.
        try bench.write([1], to: "c.part")
        try bench.write([], to: "empty")
        #expect(bench.outbox.waiting == 2)
        await bench.outbox.shutDown()
        #expect(bench.core.state.withLock { $0.attempts } == 2)
        #expect(bench.outbox.waiting == 2)
        bench.outbox.close()
        #expect(try Outbox.waiting(inFolder: bench.folder.path("outbox")) == 2)
    }

    @Test func nothingWaitsAfterSending() async throws {
        let bench = try Workbench()
        try bench.write([1], to: "a")
        await bench.outbox.shutDown()
        #expect(bench.core.sent.count == 1)
        #expect(bench.outbox.waiting == 0)
        bench.outbox.close()
        #expect(try Outbox.waiting(inFolder: bench.folder.path("outbox")) == 0)
    }
}
