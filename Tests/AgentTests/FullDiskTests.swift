import Base
import Glibc
import SMP
import TestSupport
import Testing

@testable import Agent

@Suite(.timeLimit(.minutes(10))) struct FullDiskTests {
    /// RLIMIT_FSIZE acts on a process like a full disk, so this runs in a child process.
    @Test func fullDiskFailsSendingAndKeepsMessagesQueued() async throws {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            let relay = MemoryRelay()
            let couple = try await Couple(relay)
            await couple.joiner.end()
            for number in 0..<3 {
                let sent = try await couple.inviter.agent.send(
                    bytes("\(number)"), to: couple.toJoiner, notifies: false, identifier: nil)
                await couple.inviter.diary.wait { $0.contains { $0.content == .sent(message: sent) } }
            }
            relay.setUnreachable([try Known.server(2), try Known.server(4)])
            try await couple.joiner.start()

            let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
            var limit = rlimit(rlim_cur: 4096, rlim_max: rlim_t.max)
            try #require(setrlimit(resource, &limit) == 0)
            let error = await #expect(throws: AgentError.self) {
                try await couple.joiner.agent.send(
                    bytes("too much"), to: couple.toInviter, notifies: false, identifier: nil)
            }
            #expect(error?.code == .store && error?.sentence.contains("full") == true)
            let subscriptions = relay.count("SUB")
            relay.setUnreachable([])
            try await wait(until: "it is subscribed") { relay.count("SUB") > subscriptions }
            #expect(relay.messageCount == 3)
            #expect(await couple.joiner.diary.bodies().isEmpty)

            limit.rlim_cur = rlim_t.max
            try #require(setrlimit(resource, &limit) == 0)
            await couple.joiner.diary.waitForBodies(3)
            #expect(await couple.joiner.diary.bodies() == (0..<3).map { bytes("\($0)") })
            _ = try await couple.joiner.agent.send(
                bytes("again"), to: couple.toInviter, notifies: false, identifier: nil)
            await couple.inviter.diary.waitForBodies(1)
            await couple.end()
        }
    }
}
