import Base
import ChatCore
import Glibc
import ScriptedCore
import Testing

@testable import OfficialCore

@Suite("Another database at the core")
struct IdentityTests {
    private static let other = "2026-05-06 07:08:09.101112131"

    private func stage() throws -> Stage {
        try Stage { state in
            state.contacts = [1: "alice", 2: "bob"]
            state.history.append(ScriptedMessage(id: 1, chat: "@1", isSent: false, name: "film.mp4"))
        }
    }

    /// Replaces the program: other contacts with the same numbers, and no messages.
    private func swap(_ stage: Stage) {
        stage.simplex.change { state in
            state.created = Self.other
            state.contacts = [1: "mallory"]
            state.history = ScriptedHistory()
        }
    }

    /// Whether a command has no effect. A comparison from before the lost connection may still send such
    /// commands.
    private static func isQuestion(_ command: String) -> Bool {
        command.hasPrefix("/sql chat SELECT") || command.hasPrefix("/_get")
            || ["/network", "/user", "/users"].contains(command)
    }

    private func isKnown(_ core: OfficialCore) async throws -> Bool {
        try await core.items(of: .direct(1), before: nil, count: 10).map(\.id.rawValue) == [1]
    }

    @Test("another database is not used")
    func reconnected() async throws {
        let stage = try stage()
        let core = try await stage.open()
        #expect(try await eventually { try await isKnown(core) })
        let events = core.events()
        let problems = Lock<[String]>([])
        let returns = Lock(0)
        let listening = Task {
            for await event in events {
                if case .coreUnreachable(let sentence, _) = event {
                    problems.withLock { $0.append(sentence) }
                }
                if case .coreReachable = event { returns.withLock { $0 += 1 } }
            }
        }
        stage.transport.disconnect()
        let former = stage.simplex.change { $0 }
        swap(stage)
        let before = stage.simplex.commands.count
        stage.transport.connect()
        #expect(await eventually { problems.withLock { $0.contains { $0.contains("A different SimpleX") } } })
        // The other database's events are ignored too.
        stage.simplex.tellNew(ScriptedMessage(id: 7, chat: "@1", isSent: false, name: "theirs.txt"))
        await #expect(throws: ChatError.self) {
            _ = try await core.send(stage.compose("a.txt", id: "one"), to: .direct(1))
        }
        await #expect(throws: ChatError.self) { try await core.renameChat(.direct(1), to: "Bobby") }
        #expect(stage.simplex.commands.dropFirst(before).allSatisfy(Self.isQuestion))

        stage.transport.disconnect()
        stage.simplex.change { $0 = former }
        stage.transport.connect()
        #expect(await eventually { returns.withLock { $0 } == 1 })
        #expect(try await isKnown(core))
        #expect(try await core.chats().map(\.displayName).sorted() == ["alice", "bob"])
        _ = try await core.send(stage.compose("a.txt", id: "one"), to: .direct(1))
        #expect(stage.simplex.count("/_send") == 1)
        await core.shutDown()
        await listening.value
    }

    @Test("only the former database opens")
    func opened() async throws {
        let stage = try stage()
        let core = try await stage.open()
        #expect(try await eventually { try await isKnown(core) })
        await core.shutDown()
        stage.restart()
        let former = stage.simplex.change { $0 }
        swap(stage)
        do {
            _ = try await stage.open()
            Issue.record("it was opened")
        } catch let error as ChatError {
            #expect(error.sentence.contains("use another --data"), "\(error.sentence)")
        }
        await stage.transport.close()
        stage.restart()
        stage.simplex.change { $0 = former }
        stage.rewriting("/user") { $0.replacing("alice", with: "alicia") }
        let again = try await stage.open()
        #expect(try await isKnown(again))
        await again.shutDown()
    }

    @Test("another database is only identified")
    func openedByTheLibrary() async throws {
        let stage = try stage()
        let core = try await stage.open(.library)
        #expect(try await eventually { try await isKnown(core) })
        #expect(stage.simplex.count("/_start") == 1)
        await core.shutDown()
        stage.restart()
        swap(stage)
        await #expect(throws: ChatError.self) { _ = try await stage.open(.library) }
        let commands = stage.simplex.commands
        #expect(commands.contains("/user") && commands.allSatisfy(Self.isQuestion), "\(commands)")
        await stage.transport.close()
    }

    @Test("a late identity is requested again")
    func silent() async throws {
        let stage = try stage()
        let core = try await OfficialCore.open(stage.transport, stage.impatient)
        #expect(try await eventually { try await isKnown(core) })
        let events = core.events()
        let problems = Lock<[String]>([])
        let listening = Task {
            for await case .coreUnreachable(let sentence, _) in events {
                problems.withLock { $0.append(sentence) }
            }
        }
        stage.transport.disconnect()
        let asked = Lock(0)
        let isSilent = Lock(true)
        stage.before("/sql chat SELECT created_at") {
            asked.withLock { $0 += 1 }
            while isSilent.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(10)) }
        }
        let former = stage.simplex.change { $0 }
        swap(stage)
        let before = stage.simplex.commands.count
        stage.transport.connect()
        #expect(await eventually { asked.withLock { $0 >= 3 } })
        await #expect(throws: ChatError.self) {
            _ = try await core.send(stage.compose("a.txt", id: "one"), to: .direct(1))
        }
        #expect(stage.simplex.commands.dropFirst(before).allSatisfy(Self.isQuestion))

        isSilent.withLock { $0 = false }
        #expect(await eventually { problems.withLock { $0.contains { $0.contains("A different SimpleX") } } })
        #expect(problems.withLock { $0.count } == 3, "lost, silent, another one")

        stage.transport.disconnect()
        stage.simplex.change { $0 = former }
        stage.transport.connect()
        #expect(await eventually { (try? await core.renameChat(.direct(1), to: "Bobby")) != nil })
        #expect(try await isKnown(core))
        _ = try await core.send(stage.compose("a.txt", id: "one"), to: .direct(1))
        #expect(stage.simplex.count("/_send") == 1)
        await core.shutDown()
        await listening.value
    }

    @Test("a mount without identity shows the index")
    func silentAtTheStart() async throws {
        let stage = try stage()
        let core = try await stage.open()
        #expect(try await eventually { try await isKnown(core) })
        await core.shutDown()
        stage.restart()
        stage.simplex.change { $0.silent = ["/sql"] }
        let again = try await OfficialCore.open(stage.transport, stage.impatient)
        #expect(try await isKnown(again))
        await #expect(throws: ChatError.self) {
            _ = try await again.send(stage.compose("a.txt", id: "one"), to: .direct(1))
        }
        #expect(stage.simplex.count("/_send") == 0)
        stage.simplex.change { $0.silent = [] }
        #expect(
            await eventually {
                (try? await again.send(stage.compose("a.txt", id: "one"), to: .direct(1))) != nil
            })
        #expect(stage.simplex.count("/_send") == 1)
        await again.shutDown()
    }

    @Test("a late identity completes the setup")
    func silentLibrary() async throws {
        let stage = try stage()
        let core = try await stage.open(.library)
        #expect(try await eventually { try await isKnown(core) })
        await core.shutDown()
        stage.restart()
        stage.simplex.change { $0.silent = ["/sql"] }
        var settings = stage.settings(.library)
        settings.connectTimeout = .milliseconds(500)
        let again = try await OfficialCore.open(stage.transport, settings)
        #expect(stage.simplex.commands.allSatisfy(Self.isQuestion))
        stage.simplex.change { $0.silent = [] }
        #expect(await eventually { stage.simplex.count("/_start") == 1 })
        #expect(stage.simplex.count("/_files_folder") == 1)
        await again.shutDown()
    }

    @Test("a missing profile is another database")
    func withoutTheProfile() async throws {
        let stage = try stage()
        let core = try await stage.open()
        #expect(try await eventually { try await isKnown(core) })
        stage.transport.disconnect()
        let own = stage.simplex.change { $0.created }
        stage.rewriting("/sql chat SELECT created_at") { $0.replacing(#","\#(own)""#, with: "") }
        stage.transport.connect()
        await #expect(throws: ChatError.self) {
            _ = try await core.send(stage.compose("a.txt", id: "one"), to: .direct(1))
        }
        #expect(stage.simplex.count("/_send") == 0)
        await core.shutDown()
    }

    @Test("the identity check precedes queued events")
    func behindABacklog() async throws {
        let stage = try stage()
        let core = try await stage.open()
        #expect(try await eventually { try await isKnown(core) })
        let isHeld = Lock(true)
        let isReceiving = Lock(false)
        stage.before("/freceive") {
            isReceiving.withLock { $0 = true }
            while isHeld.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(10)) }
        }
        var small = ScriptedMessage(id: 2, chat: "@1", isSent: false, name: "small.jpg", size: 10)
        small.type = "image"
        stage.simplex.tellNew(small)
        #expect(await eventually { isReceiving.withLock { $0 } })
        stage.transport.disconnect()
        swap(stage)
        stage.transport.connect()
        await #expect(throws: ChatError.self) {
            _ = try await core.send(stage.compose("a.txt", id: "one"), to: .direct(1))
        }
        #expect(stage.simplex.count("/_send") == 0)
        isHeld.withLock { $0 = false }
        await core.shutDown()
    }

    @Test(
        "a break at the identity check sends nothing"
    )
    func brokenQuestion() async throws {
        let stage = try stage()
        let core = try await stage.open()
        #expect(try await eventually { try await isKnown(core) })
        let isBreaking = Lock(true)
        stage.transport.disconnect()
        stage.before("/sql chat SELECT created_at") {
            guard isBreaking.withLock({ $0 }) else { return }
            stage.transport.disconnect()
            stage.transport.connect()
        }
        stage.transport.connect()
        for _ in 0..<3 {
            await #expect {
                _ = try await core.send(stage.compose("a.txt", id: "one"), to: .direct(1))
            } throws: { ($0 as? ChatError)?.code == .file(.unreachable) }
            await #expect {
                try await core.send(ComposedText(id: "text", text: "x"), to: .direct(1))
            } throws: { ($0 as? ChatError)?.code == .file(.unreachable) }
        }
        isBreaking.withLock { $0 = false }
        #expect(
            await eventually {
                (try? await core.send(stage.compose("a.txt", id: "one"), to: .direct(1))) != nil
            })
        try await core.send(ComposedText(id: "text", text: "x"), to: .direct(1))
        #expect(stage.simplex.count("/_send") == 2)
        await core.shutDown()
    }

    @Test("without database queries the database counts as same")
    func untold() async throws {
        let stage = try stage()
        let core = try await stage.open()
        await core.shutDown()
        stage.restart()
        stage.simplex.change { $0.answersQuestions = false }
        let again = try await stage.open()
        stage.transport.disconnect()
        stage.transport.connect()
        #expect(
            await eventually {
                (try? await again.send(stage.compose("a.txt", id: "one"), to: .direct(1))) != nil
            })
        await again.shutDown()
    }
}
