import Agent
import Base
import ChatCore
import Glibc
import Posix
import Store
import TestSupport
import Testing

@testable import EmbeddedCore

/// Collected reachability events.
private final class Reachability: Sendable {
    private let words = Lock<[String]>([])
    private let task: Task<Void, Never>

    init(_ core: EmbeddedCore) {
        let (stream, words) = (core.events(), words)
        task = Task {
            for await event in stream {
                switch event {
                case .coreUnreachable(let sentence, _): words.withLock { $0.append(sentence) }
                case .coreReachable: words.withLock { $0.append("back") }
                default: break
                }
            }
        }
    }

    var heard: [String] { words.withLock { $0 } }

    func waits(for count: Int) async throws {
        try await wait(until: "\(count) words were heard; so far \(heard)") { heard.count >= count }
    }

    /// All events, after the core's streams have ended.
    func whole() async -> [String] {
        await task.value
        return heard
    }
}

@Suite("Unreachable contacts")
struct ReachabilityTests {
    /// Prevents opening the agent, with a reason.
    private final class Obstacle: Sendable {
        private let sentence: Lock<String?>
        private let tries = Lock(0)

        init(_ sentence: String?) { self.sentence = Lock(sentence) }

        func set(_ other: String?) { sentence.withLock { $0 = other } }
        var count: Int { tries.withLock { $0 } }

        func making(_ agent: ToldAgent) -> ProfileAgent.Making {
            { [self] path, key, servers, network in
                tries.withLock { $0 += 1 }
                if let problem = sentence.withLock({ $0 }) { throw StoreError(.diskFull, problem) }
                return try agent.making(path, key, servers, network)
            }
        }
    }

    /// Alice with contacts, whose agent cannot be opened.
    private func opened(_ obstacle: Obstacle) async throws -> (World, EmbeddedCore) {
        let world = try World(["alice"])
        let agent = ToldAgent(isEarly: false) { _ in nil }
        await (try await world.openAlice(over: agent)).shutDown()
        let core = try await world.open(
            "alice", over: obstacle.making(ToldAgent(isEarly: false) { _ in nil }))
        return (world, core)
    }

    @Test("problem is reported once and withdrawn")
    func told() async throws {
        let obstacle = Obstacle("The disk is full.")
        let (_, core) = try await opened(obstacle)
        let first = Reachability(core)
        try await first.waits(for: 1)
        // Regardless of the number of retries.
        let tries = obstacle.count
        try await wait(until: "it is tried again") { obstacle.count > tries + 2 }
        let later = Reachability(core)
        try await later.waits(for: 1)
        obstacle.set(nil)
        try await first.waits(for: 2)
        try await later.waits(for: 2)
        let last = Reachability(core)
        await core.shutDown()
        let problem = "No contact on the network can be reached: The disk is full."
        #expect(await first.whole() == [problem, "back"])
        #expect(await later.whole() == [problem, "back"])
        #expect(await last.whole() == [])
    }

    @Test("new reason replaces the old one")
    func reasons() async throws {
        let obstacle = Obstacle("The disk is full.")
        let (_, core) = try await opened(obstacle)
        let listener = Reachability(core)
        try await listener.waits(for: 1)
        obstacle.set("The database is locked.")
        try await listener.waits(for: 2)
        obstacle.set("The disk is full.")
        try await listener.waits(for: 3)
        let late = Reachability(core)
        try await late.waits(for: 1)
        await core.shutDown()
        let (full, locked) = ("The disk is full.", "The database is locked.")
        #expect(
            await listener.whole()
                == [full, locked, full].map { "No contact on the network can be reached: \($0)" })
        #expect(await late.whole() == ["No contact on the network can be reached: \(full)"])
    }

    @Test("store stays usable while the agent is closed")
    func meanwhile() async throws {
        let obstacle = Obstacle("The disk is full.")
        let (world, core) = try await opened(obstacle)
        let listener = Reachability(core)
        try await listener.waits(for: 1)
        #expect(try await core.chats().map(\.displayName) == ["Saved notes", "bob", "carol"])
        try await core.send(ComposedText(id: "1", text: "hello"), to: core.chat(named: "bob"))
        #expect(try await Line.all(core.log(of: "bob")).map(\.text) == ["hello"])
        // A command that needs the agent reports the reason.
        let error = await refusal { try await core.renewKeys(of: core.chat(named: "bob")) }
        #expect(error?.code == .file(.noSpace) && error?.sentence == "The disk is full.")
        obstacle.set(nil)
        try await listener.waits(for: 2)
        try await wait(until: "it is sent") {
            try world.database().read { try !$0.exists("SELECT 1 FROM outgoing") }
        }
        await core.shutDown()
    }

    @Test("profile without contacts reports no problem")
    func withoutContacts() async throws {
        let world = try World(["alice", "bob"])
        try world.directory.connect("alice", "bob")
        let obstacle = Obstacle("The disk is full.")
        let core = try await world.open(
            "alice", over: obstacle.making(ToldAgent(isEarly: false) { _ in nil }))
        let listener = Reachability(core)
        try await core.send(ComposedText(id: "1", text: "hello"), to: core.chat(named: "bob"))
        await core.shutDown()
        #expect(await listener.whole() == [] && obstacle.count == 0)
    }

    @Test("shutdown does not withdraw the problem")
    func ended() async throws {
        let obstacle = Obstacle("The disk is full.")
        let (_, core) = try await opened(obstacle)
        let listener = Reachability(core)
        try await listener.waits(for: 1)
        await core.shutDown()
        #expect(await listener.whole().count == 1)
    }

    @Test(
        "damaged agent database is named")
    func damaged() async throws {
        let internet = try Internet()
        let (alice, bob) = try await internet.pair()
        await (try alice.core).shutDown()
        let directory = alice.world.directory
        let folder = try directory.folders(of: directory.profile(named: "alice")).own
        try #require(rename(folder + "/agent.sqlite", folder + "/right") == 0)
        let file = try OpenFile(folder + "/agent.sqlite", flags: O_RDWR | O_CREAT | O_EXCL)
        try file.write([UInt8](repeating: 7, count: 8192), at: 0)
        let core = try await alice.open()
        let listener = Reachability(core)
        try await listener.waits(for: 1)
        #expect(listener.heard[0].hasPrefix("No contact on the network can be reached: "))
        #expect(listener.heard[0].contains("database is corrupt"), "\(listener.heard)")
        try await bob.core.send(
            ComposedText(id: "1", text: "are you there?"), to: bob.core.chat(named: "alice"))
        try #require(rename(folder + "/right", folder + "/agent.sqlite") == 0)
        try await listener.waits(for: 2)
        #expect(listener.heard.last == "back")
        #expect(try await alice.lines(of: "bob", count: 1).map(\.text) == ["are you there?"])
        await core.shutDown()
        try await bob.core.shutDown()
    }
}
