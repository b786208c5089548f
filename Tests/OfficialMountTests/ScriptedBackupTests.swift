import Base
import Glibc
import Posix
import ScriptedCore
import TestSupport
import Testing

/// `chatfs verify`, `export` and `import` on the data that ChatFS keeps for an official core.
@Suite(.serialized) struct ScriptedBackupTests {
    private static let bytes = SystemRandomSource().bytes(900_000)

    private func run(_ stage: ScriptedMount, _ arguments: [String]) async throws -> Shell.Outcome {
        try await Shell.run(
            "sh",
            ["-c", "exec 3<\"$0\"; exec \"$@\"", stage.folder.path("passphrase"), ChatFSProcess.path]
                + arguments,
            environment: ["CREDENTIALS_DIRECTORY": ChatFSProcess.credentials, "HOME": stage.folder.path],
            limit: .seconds(60))
    }

    private func core(_ stage: ScriptedMount) -> [String] {
        [
            "--core", "ws://127.0.0.1:\(stage.server.port)", "--data", stage.folder.path("data"),
        ]
    }

    /// An ended mount that had a rule, an approved relay, an unsent draft and a kept copy.
    private func filled() async throws -> (ScriptedMount, ScriptedMessage) {
        let stage = try await ScriptedMount.start()
        try stage.folder.write(Array("archive".utf8), to: "passphrase")
        let message = stage.offer(
            1, size: Self.bytes.count, description: try await stage.upload(Self.bytes))
        for words in [
            ["keep", "set", "--what", "media", "--files-folder", stage.folder.path("files")],
            ["approve", stage.relayAddress],
        ] {
            let set = try await run(stage, words + core(stage))
            #expect(set.succeeded, "\(words): \(set.errors)")
        }
        try await stage.mount()
        try await stage.waitUntilShown(message)
        stage.giveUp(message)
        try await wait(until: "it failed") { try stage.error(of: message) != nil }
        let hydrated = try await run(stage, ["hydrate", stage.path(of: message)])
        #expect(hydrated.succeeded, "\(hydrated.errors)")
        try await stage.waitForCopy(of: message)
        try OpenFile(stage.folder.path("Chats/bob/half.part"), flags: O_WRONLY | O_CREAT | O_EXCL)
            .write(Array(Self.bytes.prefix(200_000)), at: 0)
        try await stage.leave()
        return (stage, message)
    }

    private func verify(_ stage: ScriptedMount, _ more: [String] = []) async throws -> Shell.Outcome {
        try await run(stage, ["verify", "--data", stage.folder.path("data")] + more)
    }

    @Test func archiveRestoresEverything() async throws {
        let (stage, message) = try await filled()
        let verified = try await verify(stage)
        #expect(verified.succeeded, "\(verified.output)\(verified.errors)")
        #expect(verified.errors.contains("official-"), "\(verified.errors)")
        let archive = stage.folder.path("a.zip")
        let exported = try await run(
            stage, ["export", archive, "--data", stage.folder.path("data"), "--archive-passphrase-fd", "3"])
        #expect(exported.succeeded, "\(exported.errors)")
        let list = try await Shell.run(
            "python3", ["-c", "import sys, zipfile; print(zipfile.ZipFile(sys.argv[1]).namelist())", archive])
        for name in [
            "approvals.sqlite", "names.sqlite", "keep.sqlite", "index.sqlite", "outbox/journal.sqlite",
            "outbox/spool/", "staging/kept-\(message.fileID)",
        ] {
            #expect(list.output.contains(name), "\(name): \(list.output)")
        }
        let looked = try await run(stage, ["verify", archive, "--archive-passphrase-fd", "3"])
        #expect(looked.succeeded, "\(looked.output)\(looked.errors)")

        // The imported data replaces the lost data.
        let imported = try await run(
            stage,
            [
                "import", archive, "--data", stage.folder.path("again"), "--archive-passphrase-fd", "3",
                "--no-encryption",
            ])
        #expect(imported.succeeded, "\(imported.errors)")
        #expect(unlink(stage.copy(of: message)) == 0)
        #expect(
            rename(stage.folder.path("data"), stage.folder.path("old")) == 0
                && rename(stage.folder.path("again"), stage.folder.path("data")) == 0)
        let again = try await verify(stage)
        #expect(again.succeeded, "\(again.output)\(again.errors)")
        stage.relay.send(SIGKILL)
        try await stage.mount()
        let reader = try await stage.reader(of: message)
        #expect(
            try await reader.readAtLast(0..<Self.bytes.count) == ScriptedMount.digest(Self.bytes[...]))
        #expect(access(stage.copy(of: message), F_OK) == 0)
        #expect(
            try stage.folder.names(in: "Chats/.chatfs/recovered").contains { $0.contains("half.part") })
        try await stage.leave()
        let rules = try await run(
            stage, ["keep", "show", "--files-folder", stage.folder.path("files")] + core(stage))
        #expect(rules.output.contains("media"), "\(rules.output)\(rules.errors)")
        let approved = try await run(stage, ["approve", "--list"] + core(stage))
        #expect(approved.output.contains(stage.relayAddress.prefix(40)), "\(approved.output)")
        #expect(try await verify(stage).succeeded)
    }

    @Test func damageIsReported() async throws {
        let (stage, message) = try await filled()
        let file = try OpenFile(stage.copy(of: message), flags: O_RDWR)
        try file.write(try file.read(count: 1, at: 70_000).map { $0 ^ 1 }, at: 70_000)
        try stage.folder.write([1, 2, 3], to: "files/outbox/kept-99")
        let looked = try await verify(stage, ["--json"])
        #expect(
            looked.ending == .code(1) && looked.output.contains("bob/\(message.name)"), "\(looked.output)")
        #expect(looked.output.contains("\"outcome\":\"refetchable\""), "\(looked.output)")
        let fixed = try await verify(stage, ["--fix"])
        #expect(fixed.ending == .code(1) && fixed.output.contains("set aside"), "\(fixed.output)")
        #expect(access(stage.folder.path("files/outbox/kept-99"), F_OK) != 0)
        let exported = try await run(
            stage,
            [
                "export", stage.folder.path("a.zip"), "--data", stage.folder.path("data"),
                "--archive-passphrase-fd", "3",
            ])
        #expect(
            exported.ending == .code(1) && exported.errors.contains("kept-\(message.fileID): It is damaged"),
            "\(exported.errors)")
        // A damaged draft.
        let data = try #require(
            try stage.folder.names(in: "data").first { $0.hasPrefix("official-") })
        let profile = try #require(
            try stage.folder.names(in: "data/\(data)").first { $0.hasPrefix("profile-") })
        let spool = "data/\(data)/\(profile)/outbox/spool"
        let draft = try #require(try stage.folder.names(in: spool).first)
        let bytes = try OpenFile(stage.folder.path("\(spool)/\(draft)"), flags: O_RDWR)
        try bytes.write(try bytes.read(count: 1, at: 70_000).map { $0 ^ 1 }, at: 70_000)
        #expect(try await verify(stage).output.contains("half.part: damaged"))
        // A missing database.
        unlink(stage.folder.path("data/\(data)/\(profile)/keep.sqlite"))
        let missing = try await verify(stage)
        #expect(missing.output.contains("keep.sqlite: missing"), "\(missing.output)")
        let refused = try await run(
            stage, ["keep", "show", "--files-folder", stage.folder.path("files")] + core(stage))
        #expect(refused.ending == .code(1) && refused.errors.contains("keep.sqlite ("), "\(refused.errors)")
        // A missing folder.
        #expect(rename(stage.folder.path("data/\(data)"), stage.folder.path("away")) == 0)
        let gone = try await verify(stage)
        #expect(gone.ending == .code(1) && gone.output.contains("approvals.sqlite"), "\(gone.output)")
        let given = try await verify(stage, ["--fix"])
        #expect(given.succeeded && given.output.contains("created again"), "\(given.output)\(given.errors)")
        #expect(try await verify(stage).succeeded)
    }
}
