import Posix
import TestSupport
import Testing

@Suite("Data of another version", .serialized)
struct OtherVersionTests {
    @Test("every command refuses it and changes nothing")
    func refusal() async throws {
        let mounts = try await TwoMounts.start(encrypted: false)
        try await mounts.send(Array("kept".utf8), as: "kept.txt")
        let source = try mounts.folder.write([1], to: "file.txt")
        try mounts.write([1, 2, 3], to: "alice/bob/draft.part")
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
        let mount = mounts.arguments(toMount: "alice")
        let others = [
            ["profile", "list"], ["profile", "create", "carol"], ["connect", "alice", "bob"],
            ["group", "create", "Club", "alice", "bob"], ["send", source, "bob", "--profile", "alice"],
            ["approve", "--profile", "alice"],
        ].map { $0 + ["--data", mounts.data] }

        let version = try mounts.folder.read("data/version")
        try mounts.folder.write(Array("2\n".utf8), to: "data/version")
        try await expectRefused([mount] + others, mounts)
        try mounts.folder.write(version, to: "data/version")

        for (database, commands) in [
            ("chatfs.db", [mount] + others), ("profiles/1/names.sqlite", [mount]),
            ("profiles/1/outbox/journal.sqlite", [mount]),
        ] {
            try await mounts.change(
                "INSERT INTO schema_version (number, name) VALUES (99, ?)", ["future"], in: database)
            try await expectRefused(commands, mounts)
            try await mounts.change("DELETE FROM schema_version WHERE name = ?", ["future"], in: database)
        }
        for name in ["alice", "bob"] { try await mounts.mount(name) }
        #expect(try mounts.read("bob/alice/kept.txt") == Array("kept".utf8))
        #expect(try mounts.read("alice/bob/draft.part") == [1, 2, 3])
        #expect(try mounts.folder.names(in: "bob/alice") == ["kept.txt"])
    }

    private func expectRefused(_ commands: [[String]], _ mounts: TwoMounts) async throws {
        let before = try await content(mounts)
        for arguments in commands {
            let outcome = try await ChatFSProcess.run(arguments)
            #expect(outcome.ending == .code(1), "\(arguments)")
            #expect(outcome.output.isEmpty)
            #expect(outcome.errors.split(separator: "\n").count == 1, "\(arguments): \(outcome.errors)")
            #expect(outcome.errors.contains(" version "), "\(outcome.errors)")
            #expect(try MountTable.mounts(below: mounts.folder.path).isEmpty)
        }
        let changed = Set(try await content(mounts).split(separator: "\n"))
            .symmetricDifference(before.split(separator: "\n"))
        #expect(changed.isEmpty, "\(changed)")
    }

    /// Content of every file of the data directory except locks. Databases as rows, because opening may checkpoint a
    /// journal; without the elapsed time, which every opening changes.
    private func content(_ mounts: TwoMounts) async throws -> String {
        let script = """
            import hashlib, os, sqlite3, sys
            for folder, _, names in sorted(os.walk(sys.argv[1])):
                for name in sorted(names):
                    path = os.path.join(folder, name)
                    if name.endswith(("-wal", "-shm", "lock")): continue
                    with open(path, "rb") as file: content = file.read()
                    if content.startswith(b"SQLite format 3"):
                        lines = sqlite3.connect(path).iterdump()
                        content = "\\n".join(x for x in lines if "elapsed_time" not in x).encode()
                    print(hashlib.sha256(content).hexdigest(), path)
            """
        let outcome = try await Shell.run("python3", ["-c", script, mounts.data])
        #expect(outcome.succeeded, "\(outcome.errors)")
        return outcome.output
    }
}
