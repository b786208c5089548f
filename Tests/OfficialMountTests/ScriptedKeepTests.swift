import Base
import Glibc
import Posix
import TestSupport
import Testing

@Suite("Keep rules on an official core", .serialized)
struct ScriptedKeepTests {
    private func keep(_ stage: ScriptedMount, _ arguments: String...) async throws -> String {
        let core = [
            "--core", "ws://127.0.0.1:\(stage.server.port)", "--files-folder", stage.folder.path("files"),
            "--data", stage.folder.path("data"),
        ]
        let outcome = try await ChatFSProcess.run(
            ["keep"] + arguments + core, environment: ["HOME": stage.folder.path])
        #expect(outcome.succeeded, "\(outcome.errors)")
        return outcome.output
    }

    private func hours(_ hours: Int) -> Int64 { Int64(time(nil)) - Int64(hours) * 3600 }

    @Test("a rule's file is received once")
    func kept() async throws {
        let stage = try await ScriptedMount.start()
        let bytes = SystemRandomSource().bytes(300_000)
        let description = try await stage.upload(bytes)
        var (new, old) = (
            stage.offer(1, size: bytes.count, description: description),
            stage.offer(2, size: bytes.count, description: description)
        )
        (new.time, old.time) = (hours(1), hours(40))
        for message in [new, old] {
            stage.simplex.change { $0.history.change(message.id) { $0.time = message.time } }
        }
        // Without a mount the command opens the core itself.
        #expect(try await keep(stage, "set", "--what", "media").contains("--what media"))
        try await stage.mount()
        for message in [new, old] { try await stage.waitUntilShown(message) }
        let daemon = try #require(stage.daemon)
        try await wait(until: "it says that one goes") { daemon.errors.contains("expire soon: count=1") }
        let expires = try ExtendedAttribute.text("user.chatfs.expires", of: stage.path(of: new))
        #expect(abs((expires.flatMap { Int64($0) } ?? 0) - hours(1) - 48 * 3600) <= 120)
        #expect(stage.simplex.count("/freceive") == 0)

        #expect(
            try await keep(stage, "set", "--chat", "bob", "--what", "all").hasPrefix("bob (@1): --what all"))
        try await wait(until: "the core is asked") { stage.simplex.count("/freceive ") == 2 }
        for message in [new, old] {
            #expect(stage.simplex.count("/freceive \(message.fileID) encrypt=on") == 1)
            let path = try stage.folder.write(bytes, to: "files/\(message.name)")
            let complete = stage.simplex.change { state in
                state.history.change(message.id) {
                    $0.status = #"{"type":"rcvComplete"}"#
                    $0.path = path
                }
            }
            stage.simplex.tell("rcvFileComplete", complete ?? message)
            try await wait(until: "it is stored") {
                try ExtendedAttribute.text("user.chatfs.state", of: stage.path(of: message)) == "stored"
            }
            try await wait(until: "it expires no more") {
                try ExtendedAttribute.text("user.chatfs.expires", of: stage.path(of: message)) == nil
            }
        }
        #expect(stage.simplex.count("/freceive ") == 2)
        try await wait(until: "nothing is left to keep") {
            let status = try await ChatFSProcess.run(["status", stage.folder.path("Chats")])
            return status.succeeded && !status.output.contains("to be kept")
                && !status.output.contains("12 hours")
        }
        try await stage.leave()
    }
}
