import Glibc
import Posix
import TestSupport
import Testing

/// Peers choose their own names, but never the words that select chats.
@Suite("Names chosen by peers", .serialized)
struct ChosenNameTests {
    private static let alice = ["--profile", "alice"]

    /// alice with the contacts bob and mallory, unmounted.
    private func directory() async throws -> TwoMounts {
        let mounts = try await TwoMounts.start(mounting: [])
        try await mounts.run(["profile", "create", "mallory"])
        try await mounts.run(["connect", "alice", "mallory"])
        return mounts
    }

    /// bob takes another name, and mallory takes bob's.
    private func swap(_ mounts: TwoMounts) async throws {
        try await mounts.run(["profile", "rename", "bob", "Robert"])
        try await mounts.run(["profile", "rename", "mallory", "bob"])
    }

    @Test("an unmounted contact keeps its first name")
    func unmounted() async throws {
        let mounts = try await directory()
        try await swap(mounts)
        #expect(
            try await mounts.run(["contact", "list"] + Self.alice).output == "bob\nmallory\n")
        let file = try mounts.folder.write([1, 2, 3], to: "plan.txt")
        try await mounts.run(["send", file, "bob"] + Self.alice)
        let refused = try await mounts.refused(["send", file, "Robert"] + Self.alice)
        #expect(refused.contains("bob (@") && refused.contains("display name"), "\(refused)")
        try await mounts.mount("Robert", at: mounts.path("bob"))
        try await mounts.waitForFile("bob/alice/plan.txt")
        #expect(try await mounts.leave("Robert") == .code(0))
    }

    @Test("a removed alias selects no chat")
    func renamed() async throws {
        let mounts = try await directory()
        try await mounts.run(["contact", "rename", "bob", "Robert"] + Self.alice)
        try await mounts.mount("alice")
        try await mounts.run(["profile", "rename", "mallory", "Robert B."])
        try await mounts.run(["profile", "create", "eve"])
        try await mounts.run(["profile", "rename", "bob", "someone"])
        try await mounts.run(["profile", "rename", "eve", "bob"])
        try await mounts.run(["connect", "alice", "bob"])
        try await mounts.waitForFile("alice/bob (2)")
        let file = try mounts.folder.write([1, 2, 3], to: "plan.txt")
        for command in [
            ["send", file, "bob"], ["send", "--text", "hi", "bob"],
            ["keep", "set", "--chat", "bob", "--what", "all"],
            ["mute", "bob"], ["contact", "leave", "bob"], ["storage", "free", "--chat", "bob"],
            ["chat", "ttl", "bob"],
        ] {
            let reason = try await mounts.refused(command + Self.alice)
            #expect(reason.contains("There is no chat bob"), "\(command): \(reason)")
        }
        let taken = try await mounts.refused(["contact", "rename", "bob (2)", "Robert"] + Self.alice)
        #expect(taken.contains("Robert (@"), "\(taken)")
        #expect(
            try await mounts.run(["contact", "list"] + Self.alice).output == "Robert\nmallory\nbob (2)\n")
        for word in ["Robert", "bob (2)"] {
            try await mounts.run(["mute", word] + Self.alice)
        }
        #expect(try await mounts.run(["mute"] + Self.alice).output == "Robert\nbob (2)\n")
        #expect(try await mounts.leave("alice") == .code(0))
    }
}

extension TwoMounts {
    /// Returns the refusal of a command.
    fileprivate func refused(_ arguments: [String]) async throws -> String {
        let outcome = try await ChatFSProcess.run(arguments + ["--data", data])
        #expect(outcome.ending == .code(1), "\(arguments)")
        return outcome.errors
    }
}
