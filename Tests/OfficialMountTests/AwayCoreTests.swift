import Glibc
import Posix
import ScriptedCore
import TestSupport
import Testing

@Suite("Absent core", .serialized)
struct AwayCoreTests {
    @Test("a copied file waits for the core")
    func copying() async throws {
        let stage = try await ScriptedMount.start()
        try await stage.mount(["--quiet-time", "10ms"])
        stage.server.setAway(true)
        try await wait(until: "the mount knows") {
            try await stage.status().contains("transfers wait:")
        }
        let source = try stage.folder.write(Array("content".utf8), to: "report.pdf")
        let entry = stage.folder.path("Chats/bob/report.pdf")
        #expect(try await Shell.run("cp", [source, entry]).succeeded)
        try await wait(until: "the entry says why it waits") {
            try ExtendedAttribute.text("user.chatfs.state", of: entry) == "queued"
                && ExtendedAttribute.text("user.chatfs.error", of: entry)?.contains("SimpleX core") == true
        }
        #expect(try await stage.status().contains("queued"))
        stage.server.setAway(false)
        try await wait(until: "it is sent") {
            stage.simplex.change { $0.history.all.count(where: \.isSent) == 1 }
        }
        try await wait(until: "the mount knows") {
            try await !stage.status().contains("transfers wait:")
        }
        #expect(stage.simplex.count("/_send") == 1)
        try await stage.leave()
    }

    @Test("a copy without an answer is sent once")
    func answerLost() async throws {
        let stage = try await ScriptedMount.start()
        try await stage.mount(["--quiet-time", "10ms"])
        stage.simplex.change { $0.silent = ["/_send"] }
        let source = try stage.folder.write(Array("content".utf8), to: "report.pdf")
        let entry = stage.folder.path("Chats/bob/report.pdf")
        #expect(try await Shell.run("cp", [source, entry]).succeeded)
        try await wait(until: "the core is asked") { stage.simplex.count("/_send") == 1 }
        stage.server.setAway(true)
        try await wait(until: "the entry says that it waits") {
            try ExtendedAttribute.text("user.chatfs.state", of: entry) == "queued"
        }
        let newer = try stage.folder.write(Array("newer content".utf8), to: "newer.pdf")
        let outcome = try await Shell.run("cp", [newer, entry])
        #expect(!outcome.succeeded && outcome.errors.contains("not permitted"), "\(outcome.errors)")
        #expect(
            try ExtendedAttribute.text("user.chatfs.error", of: entry)?.contains("does not know yet") == true)
        try await stage.leave()
    }

    @Test("another core does not receive the waiting file")
    func another() async throws {
        let stage = try await ScriptedMount.start()
        try await stage.mount(["--quiet-time", "10ms"])
        stage.server.setAway(true)
        try await wait(until: "the mount knows") {
            try await stage.status().contains("transfers wait:")
        }
        let source = try stage.folder.write(Array("content".utf8), to: "report.pdf")
        let entry = stage.folder.path("Chats/bob/report.pdf")
        #expect(try await Shell.run("cp", [source, entry]).succeeded)
        try await wait(until: "it waits") {
            try ExtendedAttribute.text("user.chatfs.state", of: entry) == "queued"
        }
        let former = stage.simplex.change { state in
            let former = (state.created, state.contacts)
            (state.created, state.contacts) = ("2026-05-06 07:08:09.101112131", [1: "mallory"])
            return former
        }
        stage.server.setAway(false)
        try await wait(until: "the mount says so") {
            try await stage.status().contains("A different SimpleX database")
        }
        // A user may retry without knowing the other database.
        let retried = try await ChatFSProcess.run(["retry", entry], environment: ["HOME": stage.folder.path])
        #expect(stage.simplex.count("/_send") == 0, "\(retried)")
        #expect(access(stage.folder.path("Chats/bob"), F_OK) == 0)
        #expect(access(stage.folder.path("Chats/mallory"), F_OK) != 0)
        stage.server.setAway(true)
        stage.simplex.change { ($0.created, $0.contacts) = former }
        stage.server.setAway(false)
        try await wait(until: "it is sent") { stage.simplex.count("/_send") == 1 }
        try await stage.leave()
    }
}

extension ScriptedMount {
    /// The output of `chatfs status`.
    func status() async throws -> String {
        try await ChatFSProcess.run(["status", folder.path("Chats")], environment: ["HOME": folder.path])
            .output
    }
}
