import Base
import ChatCore
import ScriptedCore
import TestSupport
import Testing

@testable import OfficialCore

/// One message, a core that breaks at random and processes that end at random, until the message is sent.
@Suite("Random breaks during a send")
struct SendBreakTests {
    private enum Break: CaseIterable {
        /// The core executes the command and answers.
        case none
        /// The core executes the command; the answer is lost with the connection.
        case answer
        /// The connection breaks before the core receives the command.
        case command
        /// The core refuses the command.
        case refusal
        /// The process ends during the command: the core may have executed it.
        case processAfter, processBefore
    }

    private final class World {
        let stage: Stage
        let answersQuestions: Bool
        var core: OfficialCore
        var random: SeededGenerator
        /// Whether the last attempt has an unknown result.
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

    /// One attempt: the item, or the error.
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
            // The core executes the command, and the answer is unknown.
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
            // The send may be found or left to the user without another command.
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
        "a message is sent exactly once",
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
                // At some time the user sees that the chat does not have the message and requests a retry.
                message.mayBeRepeated = isUnsure && world.sent.isEmpty && Bool.random(using: &world.random)
            }
            #expect(world.sent.count <= 1)
            if item == nil, Int.random(in: 0..<4, using: &world.random) == 0 { try await world.restart() }
        }
        if item == nil {
            // From now on nothing breaks.
            message.mayBeRepeated = world.sent.isEmpty
            item = try await world.core.send(message, to: .direct(1))
        }
        #expect(world.sent.map(\.id) == [item?.id.rawValue])
        #expect(item?.file?.name == "a.txt")
        // The result remains, in this process and in the next.
        #expect(try await world.core.send(message, to: .direct(1)).id == item?.id)
        try await world.restart()
        #expect(try await world.core.send(message, to: .direct(1)).id == item?.id)
        #expect(world.sent.count == 1)
        await world.core.shutDown()
    }
}
