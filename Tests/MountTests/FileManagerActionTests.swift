import Glibc
import Posix
import TestSupport
import Testing

/// `chatfs-file-action`, which the menus of file managers start, on real mounts.
@Suite("What the menus of file managers do", .serialized)
struct FileManagerActionTests {
    private func act(_ action: String, on paths: [String]) async throws -> Shell.Outcome {
        // The unprivileged user may not be let into the clone; contrib/test has a copy.
        let copy = getenv("CHATFS_REPOSITORY").map { String(cString: $0) }
        let root = copy ?? #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
        let program = root + "/contrib/file-managers/common/chatfs-file-action"
        let list = paths.map { "'" + $0 + "'" }.joined(separator: " ")
        return try await Shell.script("printf '%s\\0' \(list) | python3 -B '\(program)' \(action)")
    }

    @Test("several files are received, kept and freed, and what is refused is told by its name")
    func receiving() async throws {
        let mounts = try await TwoMounts.start()
        let names = ["first photo.bin", "second.bin", "third.bin"]
        for (seed, name) in names.enumerated() {
            try await mounts.send(TwoMounts.bytes(400_000, seed: seed + 1), as: name)
        }
        let files = names.map { mounts.path("bob/alice/" + $0) }
        let received = try await act("hydrate", on: files)
        #expect(received.succeeded, "\(received.errors)")
        for name in names {
            let state = try mounts.state("bob/alice/" + name)
            #expect(state == "stored" || state == "hydrated", "\(name) is \(state ?? "nothing")")
        }

        #expect(try await act("pin", on: [files[0]]).succeeded)
        // What marks and menus go by.
        #expect(try ExtendedAttribute.text("user.chatfs.pinned", of: files[0]) == "yes")
        #expect(try ExtendedAttribute.text("user.chatfs.pinned", of: files[1]) == nil)
        for name in names { _ = try mounts.read("bob/alice/" + name) }
        for name in names { try await mounts.waitForState("stored", of: "bob/alice/" + name) }
        let freed = try await act("dehydrate", on: files)
        #expect(freed.ending == .code(1))
        #expect(freed.errors == "first photo.bin: The file is pinned: run chatfs unpin first.\n")
        #expect(try mounts.state("bob/alice/second.bin") == "stored")
        #expect(try await act("unpin", on: [files[0]]).succeeded)
        #expect(try ExtendedAttribute.text("user.chatfs.pinned", of: files[0]) == nil)
        #expect(try await act("dehydrate", on: files).succeeded)
        #expect(try mounts.state("bob/alice/first photo.bin") == "stored")

        let refused = try await act("retry", on: [files[0], mounts.path("bob/alice/none.bin")])
        #expect(refused.ending == .code(1) && refused.errors.contains("is sent once more"))
        #expect(refused.errors.contains("none.bin: No such file"))
    }

    @Test("the relays of a refused file are approved, and then it is received")
    func approving() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        try await mounts.run(["relay", "remove", mounts.relayAddress, "--profile", "bob"])
        try await mounts.mount("bob")
        try await mounts.send(TwoMounts.bytes(400_000), as: "report.bin")
        let file = mounts.path("bob/alice/report.bin")
        let refused = try await act("hydrate", on: [file])
        #expect(refused.ending == .code(1))
        #expect(refused.errors.contains("chatfs approve " + mounts.relayAddress), "\(refused.errors)")
        // What the menu decides by.
        let problem = try ExtendedAttribute.text("user.chatfs.error", of: file)
        #expect(problem?.contains("chatfs approve xftp://") == true)
        let approved = try await act("approve", on: [file])
        #expect(approved.succeeded, "\(approved.errors)")
        let received = try await act("hydrate", on: [file])
        #expect(received.succeeded, "\(received.errors)")
        #expect(try await act("approve", on: [file]).succeeded, "nothing is left to approve")
    }

    @Test("a mount that was killed is told, and nothing waits for it")
    func killed() async throws {
        let mounts = try await TwoMounts.start()
        try await mounts.send(TwoMounts.bytes(400_000), as: "report.bin")
        let daemon = try mounts.daemon("bob")
        daemon.send(SIGKILL)
        _ = try await daemon.ending()
        let outcome = try await act("hydrate", on: [mounts.path("bob/alice/report.bin")])
        #expect(outcome.errors == "report.bin: The mount does not answer.\n")
    }
}
