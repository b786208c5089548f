import Base
import Glibc
import Posix
import TestSupport
import Testing

@Suite(
    "Archive and passphrase of the official core", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct ArchiveLiveTests {
    /// Alice has received a file from Bob; no mount runs.
    private func stage() async throws -> (OfficialStage, digest: String) {
        let stage = try await OfficialStage.start("alice", "bob")
        let (alice, bob) = (stage.people[0], stage.people[1])
        try await alice.mount(.attached)
        try await bob.mount(.attached)
        let digest = try await bob.copy(SystemRandomSource().bytes(300_000), as: "film.bin", to: "alice")
        try await alice.waitForFile("film.bin", in: "bob")
        #expect(try await alice.read("film.bin", in: "bob") == digest)
        try await alice.waitForState("hydrated", "stored", of: "film.bin", in: "bob")
        for person in stage.people { _ = try await person.leave() }
        return (stage, digest)
    }

    /// Runs a command on Alice's core with the passphrases at descriptors 3 and 4.
    private func run(
        _ arguments: [String], _ alice: OfficialPerson, secrets: [String] = []
    ) async throws -> Shell.Outcome {
        var script = #""$PROGRAM" "$@""#
        var environment = ["PROGRAM": ChatFSProcess.path, "HOME": alice.home]
        for (number, secret) in secrets.enumerated() {
            script += " \(number + 3)<<EOF\(number)"
            environment["SECRET\(number)"] = secret
        }
        for number in secrets.indices { script += "\n$SECRET\(number)\nEOF\(number)" }
        let words = arguments.map { "'\($0)'" }.joined(separator: " ")
        return try await Shell.script(
            "set -- \(words)\n\(script)", environment: environment, limit: .seconds(120))
    }

    @Test("another machine imports an archive with its files")
    func moved() async throws {
        let (stage, digest) = try await stage()
        let alice = stage.people[0]
        let archive = alice.home + "/alice.zip"
        // The export ends a running program before it writes. Here the program does not restart: nothing is
        // written, and the error names the remedy.
        let attached = try await run(
            ["export", archive, "--files-folder", alice.files] + alice.coreThatRuns, alice)
        #expect(!attached.succeeded)
        #expect(attached.errors.contains("No archive was written or read."), "\(attached.errors)")
        #expect(access(archive, F_OK) != 0)
        try await alice.stopProgram()
        let exported = try await run(
            [
                "export", archive, "--core", "simplex-chat:\(OfficialPrograms.path("simplex-chat"))",
                "--database", alice.database, "--files-folder", alice.files, "--data", alice.home + "/data",
            ], alice)
        #expect(exported.succeeded, "\(exported.errors)")

        let moved = alice.home + "/moved"
        let outcome = try await run(
            [
                "import", archive, "--core", "simplex-chat:\(OfficialPrograms.path("simplex-chat"))",
                "--database", moved, "--files-folder", alice.home + "/moved files", "--data",
                alice.home + "/data2",
            ], alice)
        #expect(outcome.succeeded, "\(outcome.errors)")
        #expect(access(moved + "_chat.db.bak", F_OK) != 0)
        let chats = alice.home + "/Moved"
        mkdir(chats, 0o700)
        let mount = try await ChatFSProcess.start(
            [
                "mount", chats, "--core", "simplex-chat:\(OfficialPrograms.path("simplex-chat"))",
                "--database", moved, "--files-folder", alice.home + "/moved files", "--data",
                alice.home + "/data2", "--cache-dir", alice.home + "/cache2",
            ], environment: ["HOME": alice.home])
        try await mount.line("that it is mounted", within: .seconds(120)) { $0.contains("is mounted at") }
        try await wait(until: "the file is shown") { access(chats + "/bob/film.bin", F_OK) == 0 }
        let read = try await Shell.run("sha256sum", [chats + "/bob/film.bin"])
        #expect(read.output.prefix(64) == digest)
        #expect(try await mount.terminate() == .code(0))
        // A file that is no archive is refused.
        let wrong = try await run(
            [
                "import", "/etc/passwd", "--core", "simplex-chat:\(OfficialPrograms.path("simplex-chat"))",
                "--database", alice.home + "/wrong", "--data", alice.home + "/data3",
            ], alice)
        #expect(!wrong.succeeded, "\(wrong.output)")
        #expect(access(alice.home + "/wrong_chat.db", F_OK) != 0)
        try await stage.end()
    }

    @Test(
        "the library encrypts and changes the passphrase",
        .disabled(if: OfficialPrograms.lackLibrary, "OFFICIAL_BIN names no folder with libsimplex.so"))
    func passphrase() async throws {
        let (stage, _) = try await stage()
        let alice = stage.people[0]
        try await alice.stopProgram()
        let core = ["--core", "lib:\(OfficialPrograms.library)", "--database", alice.database]
        #expect(try await run(["key", "test"] + core, alice).output.contains("not encrypted"))
        let set = try await run(
            ["key", "set", "--new-passphrase-fd", "3"] + core, alice, secrets: [#"first"\1"#])
        #expect(set.succeeded, "\(set.errors)")
        #expect(
            try await run(["key", "status"] + core, alice).output.contains("encrypted with a passphrase"))
        for name in ["_chat.db.bak", "_agent.db.bak"] { #expect(access(alice.database + name, F_OK) != 0) }
        let right = try await run(
            ["key", "test", "--database-passphrase-fd", "3"] + core, alice, secrets: [#"first"\1"#])
        #expect(right.succeeded, "\(right.errors)")
        let change = try await run(
            ["key", "change", "--database-passphrase-fd", "3", "--new-passphrase-fd", "4"] + core, alice,
            secrets: [#"first"\1"#, "second"])
        #expect(change.succeeded, "\(change.errors)")
        let wrong = try await run(
            ["key", "test", "--database-passphrase-fd", "3"] + core, alice, secrets: [#"first"\1"#])
        #expect(wrong.ending == .code(1) && wrong.errors.contains("does not open"), "\(wrong.errors)")
        let archive = try await run(
            [
                "export", alice.home + "/sealed.zip", "--database-passphrase-fd", "3", "--files-folder",
                alice.files, "--data", alice.home + "/data",
            ] + core, alice, secrets: ["second"])
        #expect(archive.succeeded && !archive.errors.contains("not encrypted"), "\(archive.errors)")
        try await stage.end()
    }
}
