import Glibc
import Posix
import TestSupport
import Testing

@Suite("Export, import, plain copies and storage of mounts", .serialized)
struct ArchiveCommandTests {
    private static let bytes = TwoMounts.bytes(2_000_000)
    private static let name = "bob/alice/film.bin"

    private static func received() async throws -> TwoMounts {
        let mounts = try await TwoMounts.start()
        try await mounts.send(bytes, as: "film.bin")
        #expect(try await ChatFSProcess.run(["hydrate", mounts.path(name)]).succeeded)
        try mounts.folder.write(Array("correct horse\n".utf8), to: "passphrase")
        return mounts
    }

    /// Runs a command with the archive's passphrase at descriptor 3.
    private static func run(
        _ mounts: TwoMounts, _ arguments: [String], passphrase: String = "passphrase"
    ) async throws -> Shell.Outcome {
        try await Shell.run(
            "sh",
            [
                "-c", "exec 3<\"$0\"; exec \"$@\" --archive-passphrase-fd 3", mounts.path(passphrase),
                ChatFSProcess.path, "--quiet",
            ] + arguments, environment: ["CREDENTIALS_DIRECTORY": ChatFSProcess.credentials],
            limit: .seconds(60))
    }

    @Test("an exported mount can be imported and mounted")
    func archive() async throws {
        let mounts = try await Self.received()
        try mounts.write([1, 2, 3], to: "bob/alice/half.part")
        let archive = mounts.path("a.zip")
        let exported = try await Self.run(mounts, ["export", archive, "--data", mounts.data])
        #expect(exported.succeeded, "\(exported.errors)")
        let again = try await Self.run(mounts, ["export", archive, "--data", mounts.data])
        #expect(!again.succeeded && again.errors.contains("exists"), "\(again.errors)")
        #expect(try mounts.folder.names(in: "data").contains("export") == false)
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
        try mounts.folder.write([0x78], to: "wrong")
        let target = mounts.path("imported")
        let refused = try await Self.run(mounts, ["import", archive, "--data", target], passphrase: "wrong")
        #expect(!refused.succeeded && refused.errors.contains("not the right one"), "\(refused.errors)")
        let imported = try await Self.run(mounts, ["import", archive, "--no-encryption", "--data", target])
        #expect(imported.succeeded, "\(imported.errors)")
        let verified = try await ChatFSProcess.run(["verify", "--data", target])
        #expect(verified.succeeded, "\(verified.output)\(verified.errors)")
        // The imported directory replaces the first.
        #expect(rename(mounts.data, mounts.path("old")) == 0 && rename(target, mounts.data) == 0)
        try await mounts.mount("bob")
        #expect(try mounts.state(Self.name) == "stored")
        #expect(try mounts.read(Self.name) == Self.bytes)
        #expect(try mounts.folder.names(in: "bob/.chatfs/recovered").contains { $0.contains("half.part") })
    }

    @Test(
        "plain export adds new and keeps changed files"
    )
    func decrypted() async throws {
        let mounts = try await Self.received()
        try await mounts.send(Array("not received".utf8) + Self.bytes, as: "other.bin")
        func export(_ more: [String] = []) async throws -> Shell.Outcome {
            try await ChatFSProcess.run(
                ["export", "--decrypted", mounts.path("clear"), "--data", mounts.data, "--profile", "bob"]
                    + more)
        }
        let first = try await export()
        #expect(
            first.succeeded && first.errors.contains("1 written, 0 unchanged, 1 not here"), "\(first.errors)")
        #expect(first.errors.contains("alice/other.bin: The file is not local"))
        #expect(try mounts.folder.read("clear/alice/film.bin") == Self.bytes)
        var status = stat()
        var original = stat()
        #expect(
            stat(mounts.path("clear/alice/film.bin"), &status) == 0
                && stat(mounts.path(Self.name), &original) == 0)
        #expect(status.st_mtim.tv_sec == original.st_mtim.tv_sec && status.st_mode & 0o777 == 0o600)
        let manifest = String(decoding: try mounts.folder.read("clear/manifest.json"), as: UTF8.self)
        let sum = try await Shell.run("sha256sum", [mounts.path("clear/alice/film.bin")])
        #expect(manifest.contains(sum.output.prefix(64)) && manifest.contains("\"sender\" : \"alice\""))
        let fetched = try await export(["--fetch"])
        #expect(
            fetched.succeeded && fetched.errors.contains("1 written, 1 unchanged, 0 not here"),
            "\(fetched.errors)")
        try mounts.folder.write([1], to: "clear/alice/film.bin")
        unlink(mounts.path("clear/alice/other.bin"))
        let third = try await export()
        #expect(
            third.errors.contains("film.bin: The file was changed")
                && third.errors.contains("other.bin: The file was missing"))
        #expect(try mounts.folder.read("clear/alice/film.bin") == [1])
        #expect(try mounts.folder.read("clear/alice/other.bin").count == Self.bytes.count + 12)
        // A file that cannot be fetched is a failure.
        try await mounts.send(Array("never received".utf8) + Self.bytes, as: "never.bin")
        mounts.relay.send(SIGKILL)
        try await mounts.relay.ending()
        for isMounted in [true, false] {
            if !isMounted { #expect(try await mounts.leave("bob") == .code(0)) }
            let failed = try await export(["--fetch"])
            #expect(failed.ending == .code(1), "\(failed.errors)")
            #expect(failed.errors.contains("alice/never.bin: ") && failed.errors.contains("1 failed"))
        }
        // A foreign folder is not filled.
        _ = try mounts.folder.makeFolder("mine")
        try mounts.folder.write([1], to: "mine/a")
        let refused = try await ChatFSProcess.run(
            ["export", "--decrypted", mounts.path("mine"), "--data", mounts.data, "--profile", "bob"])
        #expect(!refused.succeeded && refused.errors.contains("holds other files"), "\(refused.errors)")
    }

    @Test("an import does not replace a mountpoint")
    func mountpoint() async throws {
        let mounts = try await Self.received()
        let archive = mounts.path("a.zip")
        #expect(try await Self.run(mounts, ["export", archive, "--data", mounts.data]).succeeded)
        let disk = try await SmallDisk(at: mounts.folder.makeFolder("disk"), size: "20m")
        if disk.isLimit { return }
        let refused = try await Self.run(mounts, ["import", archive, "--data", mounts.path("disk")])
        #expect(
            refused.ending == .code(1) && refused.errors.contains("replace a mountpoint"), "\(refused.errors)"
        )
        #expect(access(mounts.path("disk.importing"), F_OK) != 0)
        withExtendedLifetime(disk) {}
    }

    @Test("an interrupted export leaves nothing")
    func interrupted() async throws {
        let mounts = try await Self.received()
        // Too large to be archived before the signal, without taking space.
        let files = mounts.data + "/profiles/2/files"
        let file = try #require(try PrivateFolder.names(at: files).first)
        #expect(truncate("\(files)/\(file)", 40 << 30) == 0)
        var settings = ChildProcess.Settings(
            "/bin/sh",
            [
                "-c", "exec 3<\"$0\"; exec \"$@\" --archive-passphrase-fd 3", mounts.path("passphrase"),
                ChatFSProcess.path, "--quiet", "export", mounts.path("a.zip"), "--data", mounts.data,
            ])
        settings.environment = ["CREDENTIALS_DIRECTORY": ChatFSProcess.credentials]
        let exporting = try await RunningProcess.start(settings)
        try await mounts.waitForFile(".a.zip.new")
        exporting.send(SIGINT)
        #expect(try await exporting.ending() == .code(130))
        #expect(access(mounts.path(".a.zip.new"), F_OK) != 0)
        #expect(try !mounts.folder.names(in: "data").contains("export"))
    }

    @Test("freed copies become placeholders, mounted or not")
    func storage() async throws {
        let mounts = try await Self.received()
        let arguments = ["--data", mounts.data, "--profile", "bob"]
        let shown = try await ChatFSProcess.run(["storage", "show"] + arguments)
        #expect(
            shown.succeeded
                && shown.output.contains("alice: 1 file (2.0 MB) stored here (1 file (2.0 MB) can be freed)"),
            "\(shown.output)\(shown.errors)")
        let json = try await ChatFSProcess.run(["storage", "show", "--json"] + arguments)
        #expect(json.output.contains("\"freeable\":{\"bytes\":2000000,\"files\":1}"), "\(json.output)")
        let young = try await ChatFSProcess.run(["storage", "free", "--older-than", "1h"] + arguments)
        #expect(young.succeeded && young.errors.contains("0 local copies removed"), "\(young.errors)")
        for isMounted in [true, false] {
            if !isMounted { #expect(try await mounts.leave("bob") == .code(0)) }
            let freed = try await ChatFSProcess.run(["storage", "free", "--chat", "alice"] + arguments)
            #expect(
                freed.succeeded && freed.errors.contains("1 local copy removed (2.0 MB)"), "\(freed.errors)")
            #expect(try mounts.folder.names(in: "data/profiles/2/files").isEmpty)
            if !isMounted { try await mounts.mount("bob") }
            #expect(try mounts.read(Self.name) == Self.bytes)
            try await wait(until: "it is kept again") {
                try !mounts.folder.names(in: "data/profiles/2/files").isEmpty
            }
        }
        let pinned = try await ChatFSProcess.run(["pin", mounts.path(Self.name)])
        #expect(pinned.succeeded, "\(pinned.errors)")
        for isMounted in [true, false] {
            if !isMounted { #expect(try await mounts.leave("bob") == .code(0)) }
            let spared = try await ChatFSProcess.run(["storage", "free", "--chat", "alice"] + arguments)
            #expect(
                spared.succeeded && spared.errors.contains("0 local copies removed"), "\(spared.errors)")
            #expect(try !mounts.folder.names(in: "data/profiles/2/files").isEmpty)
        }
    }
}
