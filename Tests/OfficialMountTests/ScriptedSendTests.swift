import Glibc
import Posix
import TestSupport
import Testing

@Suite("'chatfs send --core'", .serialized)
struct ScriptedSendTests {
    @Test("only a mount sends")
    func send() async throws {
        let stage = try await ScriptedMount.start()
        let file = try stage.folder.write(Array("hello".utf8), to: "note.txt")
        let core = ["--core", "ws://127.0.0.1:\(stage.server.port)", "--data", stage.folder.path("data")]
        let home = ["HOME": stage.folder.path]
        let early = try await ChatFSProcess.run(["send", file, "bob"] + core, environment: home)
        #expect(early.ending == .code(1) && early.errors.contains("not mounted"), "\(early.errors)")
        try await stage.mount()
        let unknown = try await ChatFSProcess.run(["send", file, "nobody"] + core, environment: home)
        #expect(unknown.ending == .code(1) && unknown.errors.contains("no chat nobody"), "\(unknown.errors)")
        let outcome = try await ChatFSProcess.run(["send", file, "bob"] + core, environment: home)
        #expect(outcome.succeeded, "\(outcome.errors)")
        #expect(stage.simplex.change { $0.history.all.filter(\.isSent).map(\.name) } == ["note.txt"])
        let path = stage.folder.path("Chats/bob/note.txt")
        try await wait(until: "it is shown") { access(path, F_OK) == 0 }
        #expect(try stage.folder.names(in: "files/outbox").allSatisfy { !$0.hasPrefix("send-") })
        try await stage.leave()
    }

    @Test("an unsure result is not repeated without --anew")
    func unsure() async throws {
        let stage = try await ScriptedMount.start()
        let file = try stage.folder.write(Array("hello".utf8), to: "note.txt")
        let core = ["--core", "ws://127.0.0.1:\(stage.server.port)", "--data", stage.folder.path("data")]
        let home = ["HOME": stage.folder.path]
        try await stage.mount()
        stage.simplex.change { $0.silent = ["/_send"] }
        let first = try await ChatFSProcess.start(["send", file, "bob"] + core, environment: home)
        try await wait(until: "the core has it") { stage.simplex.count("/_send") == 1 }
        first.send(SIGINT)
        #expect(try await first.ending() == .code(130))
        #expect(first.errors.contains("may still be sent"), "\(first.errors)")
        stage.simplex.change { $0.silent = [] }
        stage.server.breakConnections()
        let second = try await ChatFSProcess.run(
            ["send", file, "bob"] + core, environment: home, limit: .seconds(120))
        #expect(second.ending == .code(1) && second.errors.contains("--anew"), "\(second.errors)")
        #expect(stage.simplex.count("/_send") == 1)
        let third = try await ChatFSProcess.run(["send", file, "bob", "--anew"] + core, environment: home)
        #expect(third.succeeded, "\(third.errors)")
        #expect(stage.simplex.count("/_send") == 2)
        try await stage.leave()
    }

    @Test("a repeat after a lost answer sends once")
    func undecided() async throws {
        let stage = try await ScriptedMount.start()
        let file = try stage.folder.write(Array("hello".utf8), to: "note.txt")
        let core = ["--core", "ws://127.0.0.1:\(stage.server.port)", "--data", stage.folder.path("data")]
        let home = ["HOME": stage.folder.path]
        try await stage.mount()
        // The core executes the command and ends before its answer is sent.
        stage.simplex.change { state in
            state.breaking = ["/_send"]
            state.work.command = .seconds(1)
        }
        let first = try await ChatFSProcess.start(["send", file, "bob"] + core, environment: home)
        try await wait(until: "the core has it") { stage.simplex.count("/_send") == 1 }
        stage.server.setAway(true)
        #expect(try await first.ending(within: .seconds(120)) == .code(1))
        #expect(first.errors.contains("Repeating the command is safe"), "\(first.errors)")
        stage.simplex.change { $0.work.command = .zero }
        stage.server.setAway(false)
        let second = try await ChatFSProcess.run(
            ["send", file, "bob"] + core, environment: home, limit: .seconds(120))
        #expect(second.succeeded, "\(second.errors)")
        #expect(stage.simplex.change { $0.history.all.filter(\.isSent).map(\.name) } == ["note.txt"])
        #expect(stage.simplex.count("/_send") == 1)
        #expect(try stage.folder.names(in: "files/outbox").allSatisfy { !$0.hasPrefix("send-") })
        try await stage.leave()
    }
}
