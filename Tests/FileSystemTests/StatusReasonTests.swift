import ChatCore
import Glibc
import Hydration
import Namespace
import TestSupport
import Testing

@testable import FileSystem

@Suite("Reasons and the last error in the status")
struct StatusReasonTests {
    private typealias Fixture = FileSystemFixture

    private static func waits(_ fixture: Fixture) async -> [String: String?] {
        let transfers = await fixture.fileSystem.status().transfers
        return Dictionary(transfers.map { ($0.path, $0.waitsFor) }) { first, _ in first }
    }

    private static func change(_ fixture: Fixture, _ status: FileStatus) {
        let item = fixture.core.state.withLock { state in
            state.items[0].file?.status = status
            return state.items[0]
        }
        fixture.core.tell(.itemChanged(item, .updated))
    }

    @Test("drafts name their next step")
    func drafts() async throws {
        let fixture = try await Fixture.make(quietTime: .seconds(36_000))
        let (_, handle) = try await fixture.fileSystem.create(
            EntryName("a.txt"), in: fixture.id("bob"), flags: O_WRONLY | O_CREAT
        ).value()
        #expect(await Self.waits(fixture)["bob/a.txt"] == "a program is still writing it")
        fixture.fileSystem.release(handle)
        try await fixture.write([1], to: "b.txt")
        let wait = await Self.waits(fixture)["bob/b.txt"] ?? nil
        #expect(wait?.contains("quiet time") == true)
        await fixture.end()
    }

    @Test("transfers without progress have a reason")
    func transfers() async throws {
        let fixture = try await Fixture.make { core in
            _ = core.received("accepted", in: Fixture.bob, size: 50, status: .rcvAccepted)
            _ = core.received(
                "moving", in: Fixture.bob, size: 50, status: .rcvTransfer(received: 30, total: 60))
        }
        let waits = await Self.waits(fixture)
        #expect(waits["bob/accepted"] == "no relay has answered yet")
        #expect(waits["bob/moving"] == .some(nil))
    }

    @Test("the last error stays after its file recovered")
    func lastError() async throws {
        let fixture = try await Fixture.make { core in
            _ = core.received("a.bin", in: Fixture.bob, size: 50, status: .rcvAccepted)
        }
        #expect(await fixture.fileSystem.status().lastError == nil)
        let problem = FileProblem(.unreachable, "relay.example.org does not answer.")
        Self.change(fixture, .rcvWarning(problem))
        try await wait(until: "the error is noted") {
            await fixture.fileSystem.status().lastError?.path == "bob/a.bin"
        }
        let file = try #require(fixture.core.state.withLock { $0.items[0].file })
        #expect(await fixture.fileSystem.status().lastError?.nextTry == nil)
        fixture.contents.conditions.withLock {
            $0[file.id] = HydrationCondition(problem: problem, nextTry: .seconds(20))
        }
        #expect(await fixture.fileSystem.status().lastError?.nextTry != nil)
        fixture.contents.conditions.withLock { $0[file.id] = nil }
        Self.change(fixture, .rcvComplete)
        try await wait(until: "it is complete") {
            await fixture.fileSystem.status().transfers.isEmpty
        }
        let last = await fixture.fileSystem.status().lastError
        #expect(last?.error == "relay.example.org does not answer.")
        #expect((last?.time ?? 0) > 0 && last?.nextTry == nil)
    }
}
