import Base
import ChatCore
import ScriptedCore
import TestSupport
import Testing

@testable import OfficialCore

/// One message, a core that breaks at random, processes that end at random, until it is sent.
@Suite("However often sending breaks, a message is sent once")
struct SendBreakTests {
    private enum Break: CaseIterable {
        /// The core does it and answers.
        case none
        /// The core does it; its answer is lost with the connection.
        case answer
        /// The connection breaks before the core sees the command.
        case command
        /// The core refuses.
        case refusal
        /// This process ends while the command is under way: the core has it, or not.
        case processAfter, processBefore
    }

    private final class World {
        let stage: Stage
        let answersQuestions: Bool
        var core: OfficialCore
        var random: SeededGenerator
        /// An attempt of which nobody knows what became of it.
        var isUnsure = false

        init(seed: UInt64) async throws {
            var random = SeededGenerator(state: seed)
            let answers = Bool.random(using: &random)
            stage = try Stage { state in
                state.answersQuestions = answers
                for id in 1...Int64(70) {
                    state.history.append(ScriptedMessage(id: id, contact: 1, name: "\(id).jpg"))
                }
            }
            answersQuestions = answers
            self.random = random
            core = try await stage.open(Self.ownership(&self.random))
        }

        private static func ownership(_ random: inout SeededGenerator) -> OfficialCoreSettings.Ownership {
            [.attached, .program, .library].randomElement(using: &random) ?? .attached
        }

        func restart() async throws {
            await core.shutDown()
            stage.restart()
            stage.simplex.change { $0.silent = [] }
            core = try await stage.open(Self.ownership(&random))
        }

        var sent: [ScriptedMessage] { stage.simplex.change { $0.history.all.filter(\.isSent) } }
    }

    /// One attempt; the item, or why there is none.
    private func attempt(_ message: ComposedMessage, _ world: World) async throws -> Result<
        ChatItem, ChatError
    > {
        let simplex = world.stage.simplex
        let kind = Break.allCases.randomElement(using: &world.random) ?? .none
        let given = simplex.count("/_send")
        switch kind {
        case .none: break
        case .answer: simplex.change { $0.breaking = ["/_send"] }
        case .command, .processBefore: simplex.change { $0.silent = ["/_send"] }
        case .refusal:
            simplex.change {
                $0.refusals["/_send"] =
                    #"{"type":"error","errorType":{"type":"contactNotReady","contact":{}}}"#
            }
        case .processAfter:
            // Taken, and the answer never comes.
            world.stage.rewriting("/_send") { _ in #"{"type":"nothingThatAnybodyKnows"}"# }
        }
        let sending = Task { [core = world.core] () -> Result<ChatItem, ChatError> in
            do throws(ChatError) {
                return .success(try await core.send(message, to: .direct(1)))
            } catch {
                return .failure(error)
            }
        }
        if kind == .command || kind == .processBefore {
            // It may be found, or left to the user, before the core is asked.
            let isOver = Lock(false)
            let watching = Task {
                _ = await sending.value
                isOver.withLock { $0 = true }
            }
            #expect(await eventually { simplex.count("/_send") > given || isOver.withLock { $0 } })
            if kind == .processBefore {
                try await world.restart()
            } else if !isOver.withLock({ $0 }) {
                world.stage.transport.disconnect()
                world.stage.transport.connect()
            }
            await watching.value
        }
        let result = await sending.value
        simplex.change { state in
            (state.silent, state.breaking, state.refusals) = ([], [], [:])
        }
        world.stage.rewriting("/_send") { $0 }
        return result
    }

    @Test(
        "it is there once when it is sent, at most once before, and what is unsure is never sent again by itself",
        arguments: 1..<13)
    func once(seed: UInt64) async throws {
        let world = try await World(seed: seed)
        var message = try world.stage.compose("a.txt", id: "one")
        var item: ChatItem?
        for _ in 0..<24 where item == nil {
            let given = world.stage.simplex.count("/_send")
            switch try await attempt(message, world) {
            case .success(let sent): item = sent
            case .failure(let error):
                #expect(
                    [.sendingUnsure, .sendingUndecided, .sendingRefused, .file(.unreachable), .internalError]
                        .contains(
                            error.code), "\(error)")
                if error.code == .sendingRefused { #expect(world.sent.isEmpty) }
                let isUnsure = error.code == .sendingUnsure
                if world.isUnsure, isUnsure, !message.mayBeRepeated {
                    #expect(
                        world.stage.simplex.count("/_send") <= given
                            || world.stage.simplex.commands.count < given)
                }
                world.isUnsure = isUnsure
                // Sooner or later the user looks into the chat, sees nothing, and says so.
                message.mayBeRepeated = isUnsure && world.sent.isEmpty && Bool.random(using: &world.random)
            }
            #expect(world.sent.count <= 1)
            if item == nil, Int.random(in: 0..<4, using: &world.random) == 0 { try await world.restart() }
        }
        if item == nil {
            // Enough of it: nothing breaks any more.
            message.mayBeRepeated = world.sent.isEmpty
            item = try await world.core.send(message, to: .direct(1))
        }
        #expect(world.sent.map(\.id) == [item?.id.rawValue])
        #expect(item?.file?.name == "a.txt")
        // And stays so, for this process and the next one.
        #expect(try await world.core.send(message, to: .direct(1)).id == item?.id)
        try await world.restart()
        #expect(try await world.core.send(message, to: .direct(1)).id == item?.id)
        #expect(world.sent.count == 1)
        await world.core.shutDown()
    }
}
