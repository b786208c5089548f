import Glibc
import Posix
import TestSupport
import Testing

@Suite("The command chatfs verify", .serialized)
struct VerifyTests {
    private static let bytes = TwoMounts.bytes(2_000_000)
    private static let name = "bob/alice/film.bin"

    /// A received file of bob's and the path of its copy.
    private static func received() async throws -> (TwoMounts, String) {
        let mounts = try await TwoMounts.start()
        try await mounts.send(bytes, as: "film.bin")
        #expect(try await ChatFSProcess.run(["hydrate", mounts.path(name)]).succeeded)
        let folder = "data/profiles/2/files"
        return (mounts, mounts.path(folder + "/" + (try #require(try mounts.folder.names(in: folder).first))))
    }

    private static func verify(_ mounts: TwoMounts, _ more: [String] = []) async throws -> Shell.Outcome {
        try await ChatFSProcess.run(["verify", "--data", mounts.data, "--profile", "bob"] + more)
    }

    private static func flip(_ path: String) throws {
        let file = try OpenFile(path, flags: O_RDWR)
        try file.write(try file.read(count: 1, at: 1_500_000).map { $0 ^ 1 }, at: 1_500_000)
    }

    @Test("a mounted profile is checked without changes")
    func mounted() async throws {
        let (mounts, copy) = try await Self.received()
        let first = try await Self.verify(mounts)
        #expect(first.succeeded && first.output == "", "\(first.output)\(first.errors)")
        #expect(first.errors.contains("databases, 1 file, 2.0 MB: no problems"), "\(first.errors)")
        let status = try await ChatFSProcess.run(["status", mounts.path("bob")])
        #expect(status.output.contains("verified today, 1 file: no problems"), "\(status.output)")
        try Self.flip(copy)
        let second = try await Self.verify(mounts, ["--json"])
        #expect(second.ending == .code(1))
        #expect(second.output.contains("\"kind\":\"damaged\"") && second.output.contains("alice/film.bin"))
        let json = try await ChatFSProcess.run(["status", "--json", mounts.path("bob")])
        #expect(json.output.contains("\"problems\" : 1"), "\(json.output)")
        let refused = try await Self.verify(mounts, ["--fix"])
        #expect(
            refused.ending == .code(1) && refused.errors.contains("in use by process"), "\(refused.errors)")
        #expect(access(copy, F_OK) == 0)
    }

    @Test("--fix receives damaged and missing files again", arguments: [true, false])
    func fixed(isDamaged: Bool) async throws {
        let (mounts, copy) = try await Self.received()
        #expect(try await mounts.leave("bob") == .code(0))
        if isDamaged { try Self.flip(copy) } else { unlink(copy) }
        try mounts.folder.write([1, 2, 3], to: "data/profiles/2/files/left")
        let looked = try await Self.verify(mounts)
        #expect(looked.ending == .code(1))
        #expect(
            looked.output.contains("alice/film.bin: \(isDamaged ? "damaged" : "missing")"),
            "\(looked.output)")
        let fixed = try await Self.verify(mounts, ["--fix"])
        #expect(fixed.succeeded, "\(fixed.output)\(fixed.errors)")
        #expect(fixed.output.contains("The next mount downloads it again"), "\(fixed.output)")
        #expect(try mounts.folder.names(in: "data/profiles/2/set-aside") == ["left"])
        #expect(try await Self.verify(mounts).succeeded)
        try await mounts.mount("bob")
        try await wait(until: "it is here again") {
            ["stored", "hydrated"].contains(try mounts.state(Self.name))
        }
        #expect(try mounts.read(Self.name) == Self.bytes)
        #expect(try await Self.verify(mounts).succeeded)
    }

    @Test("an unavailable file's readable part is kept")
    func lost() async throws {
        let (mounts, _) = try await Self.received()
        #expect(try await mounts.leave("alice") == .code(0))
        let folder = "data/profiles/1/files"
        let copy = mounts.path(folder + "/" + (try #require(try mounts.folder.names(in: folder).first)))
        try Self.flip(copy)
        let arguments = ["verify", "--data", mounts.data, "--profile", "alice"]
        let looked = try await ChatFSProcess.run(arguments)
        #expect(looked.output.contains("bob/film.bin: damaged") && looked.output.contains("No relay has it"))
        let fixed = try await ChatFSProcess.run(arguments + ["--fix"])
        #expect(fixed.succeeded && fixed.output.contains("--salvage"), "\(fixed.output)\(fixed.errors)")
        let aside = try mounts.folder.names(in: "data/profiles/1/damaged")
        #expect(aside.count == 1)
        #expect(access(copy, F_OK) == 0)
        // Its key is in the data directory, which is unlocked for that.
        let salvage = ["cryptofile", "decrypt", "--salvage"]
        let set = mounts.path("data/profiles/1/damaged/" + (try #require(aside.first)))
        let salvaged = try await ChatFSProcess.run(salvage + [set, mounts.path("out.bin")])
        #expect(
            salvaged.ending == .code(1) && salvaged.errors.contains("The tag is wrong"), "\(salvaged.errors)")
        let (out, whole) = (try mounts.read("out.bin"), Self.bytes)
        #expect(out.count == whole.count && zip(out, whole).count { $0 != $1 } < 10)
        // A mount would provide its key to commands.
        #expect(try await mounts.leave("bob") == .code(0))
        let locked = try await ChatFSProcess.run(
            salvage + [set, mounts.path("other.bin")], environment: ["CREDENTIALS_DIRECTORY": nil])
        #expect(locked.errors.contains("could not be unlocked"), "\(locked.errors)")
        #expect(rename(set, set + "0") == 0)
        let stranger = try await ChatFSProcess.run(salvage + [set + "0", mounts.path("other.bin")])
        #expect(stranger.errors.contains("no key of this copy"), "\(stranger.errors)")
        #expect(access(mounts.path("other.bin"), F_OK) != 0)
    }

    @Test("a locked database is named with a remedy", arguments: [true, false])
    func database(isEncrypted: Bool) async throws {
        let folder = try TemporaryFolder()
        #expect(
            try await ChatFSProcess.run(
                ["profile", "create", "alice", "--data", folder.path("data")]
                    + (isEncrypted ? [] : ["--no-encryption"])
            ).succeeded)
        // Its journal would be read in its place.
        if isEncrypted {
            unlink(folder.path("data/chatfs.db-wal"))
        } else {
            let script =
                "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('PRAGMA wal_checkpoint(TRUNCATE)')"
            #expect(try await Shell.run("python3", ["-c", script, folder.path("data/chatfs.db")]).succeeded)
        }
        try OpenFile(folder.path("data/chatfs.db"), flags: O_RDWR).write(
            [UInt8](repeating: 7, count: 200), at: 0)
        let outcome = try await ChatFSProcess.run(["verify", "--data", folder.path("data")])
        #expect(outcome.ending == .code(1))
        #expect(
            outcome.output.hasPrefix("chatfs.db: a damaged database"), "\(outcome.output)\(outcome.errors)")
        #expect(outcome.output.contains("chatfs import"))
    }
}
