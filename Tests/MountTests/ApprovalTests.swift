import Glibc
import Posix
import TestSupport
import Testing

@Suite("Approval of relays", .serialized)
struct ApprovalTests {
    @Test("approval permits reads until it is withdrawn")
    func approval() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        let relay = mounts.relayAddress
        try await mounts.run(["relay", "remove", relay, "--profile", "bob"])
        #expect(try await mounts.run(["relay", "list", "--profile", "bob"]).output == "")
        #expect(try await mounts.run(["relay", "list", "--profile", "alice"]).output == relay + "\n")
        try await mounts.mount("bob")
        try await mounts.send(TwoMounts.bytes(400_000), as: "first.bin")
        let first = mounts.path("bob/alice/first.bin")
        #expect(try await Shell.run("cat", [first]).errors.contains("Permission denied"))
        #expect(try ExtendedAttribute.text("user.chatfs.error", of: first)?.contains(relay) == true)

        try await mounts.run(["approve", relay, "--profile", "bob"])
        let read = try await Shell.run("cmp", [first, mounts.path("alice/bob/first.bin")])
        #expect(read.succeeded, "\(read.output)\(read.errors)")
        let list = try await mounts.run(["approve", "--list", "--profile", "bob"]).output
        #expect(list == "policy ask\n\(relay)\n")

        try await mounts.run(["approve", "--revoke", relay, "--profile", "bob"])
        #expect(try await mounts.run(["approve", "--profile", "bob"]).output == "policy ask\n")
        let again = try await ChatFSProcess.run(
            ["approve", "--revoke", relay, "--profile", "bob", "--data", mounts.data])
        #expect(again.ending == .code(1) && again.errors.contains("was not approved"))
        try await mounts.send(TwoMounts.bytes(400_000, seed: 2), as: "second.bin")
        let second = mounts.path("bob/alice/second.bin")
        #expect(try await Shell.run("cat", [second]).errors.contains("Permission denied"))
    }

    @Test("message servers are approved like file relays")
    func servers() async throws {
        let folder = try TemporaryFolder()
        func run(_ arguments: [String]) async throws -> Shell.Outcome {
            try await ChatFSProcess.run(
                arguments + (arguments[0] == "approve" ? ["--profile", "bob"] : [])
                    + ["--data", folder.path("data")])
        }
        #expect(try await run(["profile", "create", "bob", "--no-encryption"]).succeeded)
        let key = String(repeating: "A", count: 43) + "="
        let (server, relay) = ("smp://\(key)@192.168.1.5:5223", "xftp://\(key)@192.168.1.5:443")
        let approved = try await run(["approve", server, relay])
        #expect(approved.succeeded, "\(approved.errors)")
        #expect(try await run(["approve", "--list"]).output == "policy ask\n\(relay)\n\(server)\n")
        #expect(try await run(["approve", "--revoke", server]).succeeded)
        #expect(try await run(["approve", "--list"]).output == "policy ask\n\(relay)\n")
        let again = try await run(["approve", "--revoke", server])
        #expect(again.ending == .code(1) && again.errors.contains("was not approved"))
        #expect(try await run(["approve", "smp://nonsense"]).ending == .code(64))
    }

    @Test(
        "contradictory options are refused first",
        arguments: [
            ["approve", "--revoke"], ["approve", "--list", "--policy", "always"],
            ["relay", "--profile", "bob"], ["relay", "remove", "nonsense"],
        ])
    func combinations(arguments: [String]) async throws {
        let folder = try TemporaryFolder()
        let outcome = try await ChatFSProcess.run(arguments, environment: ["HOME": folder.path])
        #expect(outcome.ending == .code(64), "\(outcome.errors)")
    }
}
