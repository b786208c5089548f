import Glibc
import Posix
import TestSupport
import Testing

@Suite("Background programs", .serialized)
struct CallerTests {
    private static let size = 270_000

    /// Bob's mount with `count` remote files named `0.jpg` and so on.
    private static func stage(_ count: Int, _ more: [String] = []) async throws -> TwoMounts {
        let mounts = try await TwoMounts.start(mounting: [])
        try await mounts.mount("alice", ["--quiet-time", "0s"])
        try await mounts.mount("bob", more)
        let names = (0..<count).map { "\($0).jpg" }
        for (number, name) in names.enumerated() {
            try mounts.write(TwoMounts.bytes(size, seed: number), to: "alice/bob/" + name)
        }
        for name in names { try await mounts.waitForState("sent", of: "alice/bob/" + name) }
        try await mounts.waitForFiles(names, in: "bob/alice")
        return mounts
    }

    /// A copy of cat under another name.
    private static func reader(_ name: String, in mounts: TwoMounts) async throws -> String {
        let path = mounts.folder.path(name)
        if access(path, X_OK) != 0 {
            try #require(try await Shell.run("cp", [Shell.find("cat"), path]).succeeded)
        }
        return path
    }

    private static func cachedBytes(_ mounts: TwoMounts) async throws -> Int {
        let outcome = try await ChatFSProcess.run(["status", "--json", mounts.path("bob")])
        let match = try #require(outcome.output.firstMatch(of: /"cachedBytes" : ([0-9]+)/))
        return try #require(Int(match.1))
    }

    /// Number of refused openings by kind of program.
    private static func refused(_ kind: String, _ mounts: TwoMounts) async throws -> Int {
        let outcome = try await ChatFSProcess.run(["status", "--json", mounts.path("bob")])
        let match = try Regex("\"\(kind)\" : \\{[^}]*\"refused\" : ([0-9]+)").firstMatch(in: outcome.output)
        return match?[1].substring.flatMap { Int($0) } ?? 0
    }

    private static func states(_ count: Int, _ mounts: TwoMounts) throws -> Set<String> {
        Set(try (0..<count).compactMap { try mounts.state("bob/alice/\($0).jpg") })
    }

    @Test("background programs fetch nothing, 'file' only beginnings")
    func everything() async throws {
        let count = 100
        let mounts = try await Self.stage(count)
        let files = (0..<count).map { mounts.path("bob/alice/\($0).jpg") }
        let readers = [
            "tumblerd": "thumbnailer", "evince-thumbnailer": "thumbnailer", "baloo_file_extractor": "indexer",
            "tracker-extract-3": "indexer", "clamscan": "scanner", "restic": "backup",
        ]
        for name in readers.keys {
            let outcome = try await Shell.run(Self.reader(name, in: mounts), files)
            #expect(outcome.ending == .code(1) && outcome.output.isEmpty)
            let denied = outcome.errors.split(separator: "\n").count { $0.hasSuffix("Permission denied") }
            #expect(denied == count, "\(name): \(outcome.errors.prefix(500))")
        }
        for name in files.prefix(10) {
            let png = mounts.folder.path("thumbnail.png")
            #expect(try await !Shell.run("gdk-pixbuf-thumbnailer", ["-s", "128", name, png]).succeeded)
            #expect(try await !Shell.run("ffmpegthumbnailer", ["-i", name, "-o", png]).succeeded)
        }
        #expect(try await Self.refused("indexer", mounts) == 2 * count)
        #expect(try await Self.refused("scanner", mounts) == count)
        #expect(try await Self.refused("backup", mounts) == count)
        #expect(try await Self.refused("thumbnailer", mounts) >= 2 * count + 20)
        #expect(try await Self.cachedBytes(mounts) == 0)
        #expect(try Self.states(count, mounts) == ["remote"])

        // 270,000 bytes are a chunk of 256 KiB and one of 64 KiB, or several of 64 KiB.
        let looked = try await Shell.run("file", ["-b"] + files)
        #expect(looked.output.split(separator: "\n").count == count, "\(looked.output.prefix(500))")
        let cached = try await Self.cachedBytes(mounts)
        #expect(cached > 0 && cached <= count * (256 << 10), "\(cached)")
        #expect(try Self.states(count, mounts).isDisjoint(with: ["hydrated", "stored"]))

        // The log names each program once, and no file.
        let log = try mounts.daemon("bob").errors
        for name in readers.keys { #expect(log.split(separator: name).count == 2, "\(name): \(log)") }
        #expect(!log.contains(".jpg"))
        // A viewer is served.
        #expect(try mounts.read("bob/alice/7.jpg") == TwoMounts.bytes(Self.size, seed: 7))
    }

    @Test(
        "KDE's preview worker is refused, its copier not"
    )
    func workers() async throws {
        let mounts = try await Self.stage(3)
        let worker = try await Self.reader("kioslave5", in: mounts)
        let file = mounts.path("bob/alice/0.jpg")
        let preview = try await Shell.run(worker, ["/usr/lib/qt5/plugins/kf5/kio/thumbnail.so", file])
        #expect(preview.output.isEmpty && preview.errors.contains("0.jpg: Permission denied"))
        let copy = try await Shell.script(
            "'\(worker)' '\(file)' /usr/lib/qt5/plugins/kf5/kio/file.so | cmp - '\(mounts.path("alice/bob/0.jpg"))'"
        )
        #expect(copy.succeeded, "\(copy.output)\(copy.errors)")

        let script = try mounts.folder.write(
            Array("import sys; print(len(open(sys.argv[1], 'rb').read()))\n".utf8), to: "borg")
        let other = mounts.path("bob/alice/1.jpg")
        let backup = try await Shell.run("python3", [script, other])
        #expect(!backup.succeeded && backup.errors.contains("PermissionError"))
        #expect(try mounts.state("bob/alice/1.jpg") == "remote")
        // Local files are always readable.
        #expect(try await Shell.run("python3", [script, file]).output == "\(Self.size)\n")
        #expect(try await Shell.run(worker, ["thumbnail.so", file]).output.isEmpty == false)
    }

    @Test(
        "the user's rules precede the built-in ones")
    func rules() async throws {
        let mounts = try await Self.stage(
            4, ["--previews", "fetch", "--allow", "restic", "--refuse", "nosy*", "--refuse", "tail"])
        for (number, (name, isServed)) in [("tumblerd", true), ("restic", true), ("nosy-player", false)]
            .enumerated()
        {
            let outcome = try await Shell.run(
                Self.reader(name, in: mounts), [mounts.path("bob/alice/\(number).jpg")])
            #expect(outcome.succeeded == isServed, "\(name): \(outcome.errors)")
        }
        let tail = try await Shell.run("tail", ["-c", "1", mounts.path("bob/alice/3.jpg")])
        #expect(tail.errors.contains("Permission denied"))
        #expect(try await Self.refused("named", mounts) == 2)
        let status = try await ChatFSProcess.run(["status", mounts.path("bob")])
        #expect(
            status.output.contains("downloads refused to: program named by --refuse (2)"),
            "\(status.output)")
        let wrong = try await ChatFSProcess.run(["mount", mounts.path("other"), "--refuse", "name:"])
        #expect(wrong.ending == .code(64))
    }
}
