import Base
import ChatCore
import ScriptedCore
import Testing

@testable import OfficialCore

@Suite("Direct downloads and hidden addresses")
struct HiddenAddressTests {
    private static let described = "party: recipient\nname: a"

    private func stage() throws -> Stage {
        try Stage { state in
            state.history.append(ScriptedMessage(id: 1, contact: 1, name: "film.mp4"))
            state.descriptions[1001] = Self.described
        }
    }

    private func knows(_ core: OfficialCore) async -> Bool {
        await eventually {
            (try? await core.items(of: .direct(1), before: nil, count: 9).first?.file?.id) == FileID(1001)
        }
    }

    private func claim(_ core: OfficialCore) async throws -> String? {
        try await core.claimFile(FileID(1001), approvedRelays: false)?.description
    }

    /// Holds the answer to the network question until `release`.
    private final class HeldQuestion: Sendable {
        private let isHeld = Lock(true)
        private let asked = Lock(0)

        init(_ stage: Stage) {
            stage.before("/network") { [isHeld, asked] in
                asked.withLock { $0 += 1 }
                while isHeld.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(10)) }
            }
        }

        var wasAsked: Bool { asked.withLock { $0 > 0 } }
        func release() { isHeld.withLock { $0 = false } }
    }

    @Test(
        "a silent core permits no downloads",
        arguments: [true, false])
    func silentAtTheStart(hides: Bool) async throws {
        let stage = try stage()
        let core = try await stage.open()
        #expect(await knows(core))
        await core.shutDown()
        stage.restart()
        stage.simplex.change { state in
            state.silent = ["/sql"]
            state.hidesAddress = hides
            state.refusals["/_get chats"] =
                #"{"type":"errorDatabase","databaseError":{"type":"errorOpen"}}"#
        }
        let question = HeldQuestion(stage)
        let again = try await OfficialCore.open(stage.transport, stage.impatient)
        #expect(try await claim(again) == nil, "it has said nothing")
        stage.simplex.change { $0.silent = [] }
        #expect(await eventually { question.wasAsked })
        #expect(try await claim(again) == nil, "it has not said whether it hides it")
        await #expect(throws: ChatError.self, "nor is a copy given up for that") {
            _ = try await again.giveUpCopy(
                of: FileID(1001), at: FileSourceLocation(path: "/none", arguments: nil))
        }
        #expect(stage.simplex.count("/freceive") == 0)
        question.release()
        if hides {
            #expect(await eventually { stage.simplex.count("/_get chats") > 0 })
            #expect(try await claim(again) == nil)
        } else {
            #expect(try await eventually { try await claim(again) == Self.described })
        }
        await again.shutDown()
    }

    @Test("a restarted core must report its setting")
    func startedAnew() async throws {
        let stage = try stage()
        let core = try await stage.open()
        #expect(await knows(core))
        #expect(try await claim(core) == Self.described)
        stage.transport.disconnect()
        stage.simplex.change { $0.hidesAddress = true }
        let question = HeldQuestion(stage)
        stage.transport.connect()
        #expect(await eventually { question.wasAsked })
        #expect(try await claim(core) == nil)
        question.release()
        #expect(try await claim(core) == nil)
        await core.shutDown()
    }

    @Test(
        "a lost connection forbids downloads",
        arguments: [true, false])
    func fromTheFirstMoment(hides: Bool) async throws {
        let stage = try stage()
        let core = try await stage.open()
        #expect(await knows(core))
        #expect(try await claim(core) == Self.described)
        // The next connection answers no question, not even for the database's identity.
        let isHeld = Lock(true)
        let asked = Lock(0)
        stage.before("/sql") {
            asked.withLock { $0 += 1 }
            while isHeld.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(10)) }
        }
        stage.simplex.change { $0.hidesAddress = hides }
        stage.transport.disconnect()
        #expect(try await claim(core) == nil, "nobody knows who answers next")
        stage.transport.connect()
        #expect(try await claim(core) == nil, "it is connected again")
        #expect(await eventually { asked.withLock { $0 > 0 } })
        #expect(try await claim(core) == nil, "it was asked who it is")
        isHeld.withLock { $0 = false }
        if hides {
            #expect(await eventually { stage.simplex.count("/network") >= 2 })
            #expect(try await claim(core) == nil)
        } else {
            #expect(try await eventually { try await claim(core) == Self.described })
        }
        await core.shutDown()
    }

    @Test("the former core's answer is ignored")
    func formerAnswer() async throws {
        let stage = try stage()
        let core = try await stage.open()
        #expect(await knows(core))
        // The core answers, and the connection breaks before the answer is stored.
        stage.after("/network") { [transport = stage.transport] in
            transport.disconnect()
            transport.connect()
        }
        stage.transport.disconnect()
        stage.transport.connect()
        #expect(await eventually { stage.simplex.count("/network") >= 3 })
        #expect(try await claim(core) == nil)
        stage.after("/network") {}
        #expect(try await eventually { try await claim(core) == Self.described })
        await core.shutDown()
    }

    @Test("an unanswered question is repeated")
    func askedAgain() async throws {
        let stage = try stage()
        let core = try await stage.open()
        #expect(await knows(core))
        stage.transport.disconnect()
        let answers = Lock(0)
        stage.rewriting("/network") { answer in
            let count = answers.withLock { count in
                count += 1
                return count
            }
            return count < 3 ? #"{"type":"cmdOk"}"# : answer
        }
        stage.transport.connect()
        #expect(await eventually { answers.withLock { $0 } >= 3 })
        #expect(try await eventually { try await claim(core) == Self.described })
        await core.shutDown()
    }
}
