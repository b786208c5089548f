import Base
import Glibc
import Posix
import SMP
import TestSupport
import Testing

@testable import Agent

/// Two sides exchange messages while the network loses, repeats, delays and disconnects, and both processes
/// are killed at random. `CHATFS_AGENT_MESSAGES` sets the number of messages.
@Suite(.serialized) struct DeliveryTests {
    private static let count = getenv("CHATFS_AGENT_MESSAGES").flatMap { Int(String(cString: $0)) } ?? 2_000

    @Test func messagesArriveOnceInOrderDespiteFailures() async throws {
        let relay = MemoryRelay()
        let couple = try await Couple(relay)
        relay.setChaos(.wild)
        let each = Self.count / 2
        try await withThrowingTaskGroup { group in
            let lives = [couple.inviter, couple.joiner].map { Life($0) }
            for life in lives { group.addTask { try await life.run() } }
            let (one, other) = (lives[0], lives[1])
            group.addTask {
                try await one.write(each, "inviter", to: couple.toJoiner)
                await couple.joiner.diary.waitForBodies(each)
                one.finish()
            }
            group.addTask {
                try await other.write(each, "joiner", to: couple.toInviter)
                await couple.inviter.diary.waitForBodies(each)
                other.finish()
            }
            try await group.waitForAll()
            // Check that enough failures occurred.
            let ends = lives.map(\.ends)
            #expect(ends.allSatisfy { $0 > Self.count / 800 }, "the processes ended \(ends) times")
        }
        relay.setChaos(.none)
        try await Self.check(couple.joiner, each, "inviter")
        try await Self.check(couple.inviter, each, "joiner")
        await couple.end()
    }

    private static func check(_ person: Person, _ count: Int, _ writer: String) async throws {
        let expected = (0..<count).map { bytes("\(writer) \($0)") }
        let received = await person.diary.bodies()
        #expect(received.count == count)
        #expect(received == expected)
        let events = await person.diary.events
        let isWhole = events.allSatisfy { event in
            if case .received(let message) = event.content { message.integrity == .complete } else { true }
        }
        #expect(isWhole)
        // A server has accepted each sent message, and each was reported once.
        var sent: [Int64] = []
        for event in events { if case .sent(let number) = event.content { sent.append(number) } }
        #expect(Set(sent).count == sent.count)
        let hasFailed = events.contains { if case .messageFailed = $0.content { true } else { false } }
        #expect(!hasFailed)
    }

    @Test(arguments: 0..<60) func joiningResumesAfterKillAtAnyStep(step: Int)
        async throws
    {
        let relay = MemoryRelay()
        let inviter = try await Person(relay)
        let joiner = try await Person(relay, servers: [2])
        let invited = try await inviter.agent.invite(
            Invitation(kind: .oneTime, server: Known.server(1), information: bytes("inviter"), linkData: nil))
        let dying = step % 2 == 0 ? inviter : joiner
        dying.end(after: step / 2)
        // A handshake with fewer steps completes without a kill.
        let reviving = Task {
            try await wait(until: "the process ends") { !dying.willEnd }
            if !dying.agent.isRunning { try await dying.restart() }
        }
        let link = invited.links.full.link
        let connection = try await joiner.untilItWorks {
            try await $0.join(link: link, information: bytes("joiner"), confirmation: [])
        }
        let number = try await joiner.untilItWorks {
            try await $0.send(bytes("first"), to: connection, notifies: true, identifier: bytes("first"))
        }
        await inviter.diary.waitForBodies(1)
        await joiner.diary.wait { $0.contains { $0.content == .sent(message: number) } }
        dying.end(after: nil)
        try await reviving.value
        #expect(await inviter.diary.bodies() == [bytes("first")])
        await inviter.end()
        await joiner.end()
    }
}

/// The successive processes of a person; each is killed between two requests.
private final class Life: Sendable {
    private let person: Person
    private let state = Lock((ends: 0, isFinished: false))

    init(_ person: Person) { self.person = person }

    var ends: Int { state.withLock { $0.ends } }
    func finish() { state.withLock { $0.isFinished = true } }

    func run() async throws {
        while !state.withLock({ $0.isFinished }) {
            person.end(after: Int.random(in: 0...600))
            try await wait(until: "the process ends", within: .seconds(600)) {
                !person.willEnd || state.withLock { $0.isFinished }
            }
            if person.willEnd { break }
            state.withLock { $0.ends += 1 }
            try await person.restart()
        }
        person.end(after: nil)
    }

    func write(_ count: Int, _ name: String, to connection: ConnectionID) async throws {
        for number in 0..<count {
            _ = try await person.untilItWorks {
                try await $0.send(
                    bytes("\(name) \(number)"), to: connection, notifies: false,
                    identifier: bytes("\(number)"))
            }
        }
    }
}
