import EmbeddedCore
import Glibc
import Posix
import TestSupport
import Testing

/// Reports of missing parts of the data directory.
@Suite(.serialized) struct MissingPartTests {
    private let stage: KeyStage

    init() async throws { stage = try KeyStage() }

    private func chatfs(_ words: String) async throws -> Shell.Outcome {
        try await stage.chatfs("\(words) --passphrase-fd 3", handing: ["correct horse"])
    }

    private func sizes() throws -> [String: Int] {
        Dictionary(
            uniqueKeysWithValues: try stage.folder.names(in: "data").filter { $0 != "profiles" }.map {
                ($0, try stage.folder.read("data/\($0)").count)
            })
    }

    /// Every command that opens the directory.
    private static let commands = [
        "profile list", "profile create carol", "contact list", "key set --new-passphrase-fd 4", "key test",
        "export \"$TMPDIR/never.zip\" --archive-passphrase-fd 4", "verify", "verify --fix", "doctor",
        "storage show",
    ]

    @Test(arguments: [["keys"], ["chatfs.db"], ["keys", "chatfs.db"], [".chatfs-folder"]])
    func everyCommandNamesAMissingPart(parts: [String]) async throws {
        try await stage.make(passphrase: "correct horse")
        // With files beside the first database.
        #expect(try await chatfs("contact list").succeeded)
        for part in parts {
            for suffix in ["", "-wal", "-shm"] { unlink(stage.folder.path("data/\(part)\(suffix)")) }
        }
        let before = try sizes()
        for words in Self.commands + ["key status"] {
            let outcome =
                words == "key status"
                ? try await stage.chatfs(words)
                : try await stage.chatfs(
                    words + " --passphrase-fd 3", handing: ["correct horse", "another"])
            #expect(outcome.ending == .code(1), "\(words): \(outcome.output)\(outcome.errors)")
            for part in parts {
                #expect(
                    (outcome.errors + outcome.output).contains("\(part) ("),
                    "\(words): \(outcome.output)\(outcome.errors)")
            }
            #expect((outcome.errors + outcome.output).contains("backup"), "\(words)")
            // Nothing is created in its place.
            #expect(try sizes() == before, "\(words)")
        }
        let mountpoint = try stage.folder.makeFolder("mount")
        let mounted = try await chatfs("mount \(mountpoint) --background")
        #expect(!mounted.succeeded && mounted.errors.contains("\(parts[0]) ("), "\(mounted.errors)")
        #expect(try sizes() == before)
    }

    @Test func tableOfPartsIsComplete() throws {
        let rows = try FilesystemPageTests.rows(
            of: "docs/reference/formats.md", below: "Missing parts")
        #expect(
            rows == DirectoryPart.all.map { ["`\($0.place)`", $0.content, $0.absence.rawValue] })
    }

    @Test func missingProfileDatabaseIsUsersDecision() async throws {
        try await stage.make(passphrase: "correct horse")
        #expect(try await chatfs("contact list").succeeded)
        #expect(try await chatfs("profile list").succeeded)
        let names = "profiles/1/names.sqlite"
        let whole = try stage.folder.read("data/\(names)")
        for suffix in ["", "-wal", "-shm"] { unlink(stage.folder.path("data/\(names)\(suffix)")) }
        for words in ["profile list", "contact list", "export \"$TMPDIR/never.zip\"", "doctor"] {
            let outcome = try await chatfs(words)
            #expect(outcome.ending == .code(1), "\(words): \(outcome.output)\(outcome.errors)")
            #expect((outcome.output + outcome.errors).contains("\(names) ("), "\(words): \(outcome.errors)")
        }
        let looked = try await chatfs("verify --json")
        #expect(looked.ending == .code(1))
        #expect(looked.output.contains("\"kind\":\"missing\"") && looked.output.contains(names))
        #expect(looked.output.contains("\"outcome\":\"replaceable\""), "\(looked.output)")
        // Restored, everything works again.
        try stage.folder.write(whole, to: "data/\(names)")
        chmod(stage.folder.path("data/\(names)"), 0o600)
        #expect(try await chatfs("verify").succeeded)
        unlink(stage.folder.path("data/\(names)"))
        let fixed = try await chatfs("verify --fix")
        #expect(fixed.succeeded && fixed.output.contains("created again"), "\(fixed.output)\(fixed.errors)")
        #expect(try await chatfs("contact list").succeeded)
        #expect(try await chatfs("verify").succeeded)
    }

    @Test func damageOfTheFirstDatabaseIsALineForPrograms() async throws {
        try await stage.make(passphrase: "correct horse")
        for suffix in ["-wal", "-shm"] { unlink(stage.folder.path("data/chatfs.db\(suffix)")) }
        let path = stage.folder.path("data/chatfs.db")
        let file = try OpenFile(path, flags: O_RDWR)
        let size = Int(try file.size())
        try file.write([UInt8](repeating: 7, count: size - 8192), at: 8192)
        let outcome = try await chatfs("verify --json")
        #expect(outcome.ending == .code(1), "\(outcome.errors)")
        #expect(
            outcome.output.contains("\"profile\":\"chatfs.db\"")
                && outcome.output.contains("\"verified\":{"), "\(outcome.output)\(outcome.errors)")
    }

    @Test func nextCommandCompletesAKilledCreation() async throws {
        let killed = try await KilledCommand(in: stage.folder)
        for step in 1...60 {
            var mortal = try KeyStage(sharing: stage, data: "data-\(step)")
            let survivor = mortal
            mortal.environment.merge(killed.environment(endingAt: step)) { $1 }
            let first = try await mortal.chatfs(
                "profile create alice --passphrase-fd 3", handing: ["correct horse"])
            let again = try await survivor.chatfs(
                "profile create alice --passphrase-fd 3", handing: ["correct horse"])
            #expect(
                again.succeeded || again.errors.contains("already a profile"), "step \(step): \(again.errors)"
            )
            let listed = try await survivor.chatfs(
                "profile list --passphrase-fd 3", handing: ["correct horse"])
            #expect(listed.output == "alice\n", "step \(step): \(listed.errors)")
            if first.succeeded { return }
        }
        Issue.record("it has no end")
    }
}
