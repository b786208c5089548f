import Base
import ChatCore
import ScriptedCore
import TestSupport
import Testing

@testable import OfficialCore

/// Random events at a core: some are reported, some reach another client only, some happen while the
/// connection is lost. ChatFS also restarts at random moments.
@Suite("Convergence of index and core")
struct ConvergenceTests {
    private final class World {
        let stage: Stage
        var core: OfficialCore
        var random: SeededGenerator
        var next: Int64 = 200

        init(seed: UInt64) async throws {
            stage = try Stage { state in
                state.contacts = [1: "bob", 2: "carol"]
                state.groups = [3: "club"]
                state.answersQuestions = seed % 4 != 3
                for id in 1...Int64(130) {
                    let chat = ["@1", "@2", "#3", "#3(_support:9)"][Int(id % 4)]
                    state.history.append(ScriptedMessage(id: id, chat: chat, name: "\(id).bin"))
                }
            }
            random = SeededGenerator(state: seed &* 977)
            core = try await stage.open()
        }

        func pick() -> Int64? {
            stage.simplex.change { $0.history.all.map(\.id).sorted() }.randomElement(using: &random)
        }

        /// Waits until every earlier event was stored.
        func drain() async throws {
            next += 1
            stage.simplex.tellNew(ScriptedMessage(id: next, chat: "@1", name: "\(next).bin"))
            let file = FileID(next + 1000)
            let core = core
            let isThere = try await eventually { try await core.item(of: file) != nil }
            #expect(isThere)
        }

        var isTold: Bool { Int.random(in: 0..<3, using: &random) > 0 }
    }

    private static let states = [
        "rcvInvitation", "rcvAccepted", "rcvTransfer", "rcvComplete", "rcvCancelled", "rcvError",
        "rcvWarning",
    ]

    private func act(_ world: World) async throws {
        let simplex = world.stage.simplex
        switch Int.random(in: 0..<10, using: &world.random) {
        case 0..<4:
            world.next += 1
            let chat = ["@1", "@2", "#3", "#3(_support:9)"].randomElement(using: &world.random) ?? "@1"
            var message = ScriptedMessage(id: world.next, chat: chat, name: "\(world.next).bin")
            // Text messages between the files.
            if Bool.random(using: &world.random) { message.text = "hello" }
            if world.isTold {
                simplex.tellNew(message)
            } else {
                simplex.change { [message] in $0.history.append(message) }
            }
        case 4, 5:
            guard let id = world.pick() else { return }
            if world.isTold { simplex.tellGone(id) } else { simplex.change { _ = $0.history.remove(id) } }
        case 6, 7:
            guard let id = world.pick(), let word = Self.states.randomElement(using: &world.random) else {
                return
            }
            let changed = simplex.change { state in
                state.history.change(id) { $0.status = #"{"type":"\#(word)"}"# }
            }
            // Only files in progress are checked again without an event, so each status change has an event.
            if let changed { simplex.tell("chatItemUpdated", changed) }
        case 8:
            world.stage.transport.disconnect()
            world.stage.transport.connect()
        default:
            // The event must be stored before the restart, because completed files are not checked again.
            try await world.drain()
            await world.core.shutDown()
            world.stage.restart()
            world.core = try await world.stage.open()
        }
    }

    /// The status case without its values, which index and core must agree on.
    private static func words(_ status: FileStatus?) -> String {
        guard let status else { return "none" }
        return "\(status)".prefix { $0 != "(" }.description
    }

    private func expected(_ world: World) -> [Int64: String] {
        world.stage.simplex.change { state in
            var expected: [Int64: String] = [:]
            for message in state.history.all where message.text == nil {
                expected[message.id] =
                    message.status.firstMatch(of: /"type":"(\w+)"/).map { String($0.1) } ?? "?"
            }
            return expected
        }
    }

    private func indexed(_ core: OfficialCore) async throws -> [Int64: String] {
        var indexed: [Int64: String] = [:]
        for chat in [ChatReference.direct(1), .direct(2), .group(3)] {
            for item in try await core.items(of: chat, before: nil, count: 10_000) {
                indexed[item.id.rawValue] = Self.words(item.file?.status)
            }
        }
        return indexed
    }

    @Test("the index converges after missed events", arguments: 0..<6)
    func converges(seed: UInt64) async throws {
        let world = try await World(seed: seed)
        for _ in 0..<60 { try await act(world) }
        // A reconnection finds the events that were missed.
        world.stage.transport.disconnect()
        world.stage.transport.connect()
        let hasConverged = try await eventually { try await indexed(world.core) == expected(world) }
        if !hasConverged {
            let (indexed, expected) = (try await indexed(world.core), expected(world))
            let different = Set(indexed.keys).union(expected.keys).filter { indexed[$0] != expected[$0] }
                .sorted()
            Issue.record(
                "\(different.prefix(9).map { "\($0): \(indexed[$0] ?? "-"), not \(expected[$0] ?? "-")" })")
        }
        #expect(try await world.core.itemCount() == expected(world).count)
        await world.core.shutDown()
    }
}
