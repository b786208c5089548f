import Glibc
import Posix
import TestSupport
import Testing

/// Two people use marks in all their data for a day; no file contains a mark afterwards.
@Suite struct MarkedDayTests {
    private static let marks = [
        "mark-name", "mark-content", "mark-caption", "mark-person", "mark-link-of", "mark-words",
    ]

    @Test(arguments: [SIGTERM, SIGKILL])
    func noMarkRemainsOnDisk(_ signal: Int32) async throws {
        let mounts = try await TwoMounts.start(mounting: [])
        try await mounts.run(["profile", "create", "mark-person", "--relay", mounts.relayAddress])
        try await mounts.run(["connect", "alice", "mark-person"])
        let runtime = try mounts.folder.makeFolder("runtime")
        for name in ["alice", "mark-person"] {
            try await mounts.mount(
                name, at: mounts.path(name == "alice" ? "alice" : "other"), [],
                environment: ["XDG_RUNTIME_DIR": runtime])
        }
        // Its base64 is predictable at any multiple of three.
        let small = Array(String(repeating: "mark-content", count: 400).utf8)
        let large = Array(String(repeating: "mark-content", count: 60_000).utf8)
        for (bytes, name) in [(small, "mark-name small.txt"), (large, "mark-name large.bin")] {
            try mounts.write(bytes, to: "alice/mark-person/" + name)
            try await mounts.waitForState("sent", of: "alice/mark-person/" + name)
            try await mounts.waitForFile("other/alice/" + name)
            #expect(try mounts.read("other/alice/" + name) == bytes)
        }
        let letter = try mounts.folder.write(small, to: "mark-name letter.txt")
        try await mounts.run(
            ["send", letter, "mark-person", "--profile", "alice", "--caption", "mark-caption"])
        try await mounts.waitForFile("other/alice/mark-name letter.txt")
        unlink(letter)
        try await mounts.run(["send", "--text", "mark-words", "mark-person", "--profile", "alice"])
        try await wait(until: "the words are there") {
            (try? mounts.read("other/.chatfs/messages/alice.jsonl"))
                .map { String(decoding: $0, as: UTF8.self).contains("mark-words") } ?? false
        }
        try mounts.write(small, to: "alice/Links/mark-link-of.txt")
        try await mounts.waitForFile("alice/Links/mark-link-of.txt.url")
        // A draft that is still being written.
        let draft = try mounts.create("alice/mark-person/mark-name draft.bin")
        try draft.write(large, at: 0)
        try draft.synchronise()
        if signal == SIGKILL { try await expectNoMarks(mounts, runtime) }
        for name in ["alice", "mark-person"] {
            _ = try await mounts.leave(name, by: signal)
            let log = try mounts.daemon(name).errors
            #expect(!Self.marks.contains { log.contains($0) }, "\(log)")
        }
        withExtendedLifetime(draft) {}
        try await expectNoMarks(mounts, runtime)
    }

    private func expectNoMarks(_ mounts: TwoMounts, _ runtime: String) async throws {
        // Also a mark's base64 and the unlocking key.
        let secrets = (Self.marks + ["bWFyay1jb250ZW50"]).map { Array($0.utf8) } + [ChatFSProcess.key]
        try mounts.folder.write(Array(secrets.joined(separator: [10])), to: "patterns")
        let all: [String] = [mounts.data, mounts.path("cache"), mounts.path("relay"), runtime]
        let folders = all.filter { (path: String) in access(path, F_OK) == 0 }
        let found = try await Shell.run(
            "grep", ["-rlaF", "-f", mounts.path("patterns")] + folders, environment: ["LC_ALL": "C"])
        #expect(found.output == "" && found.ending == .code(1), "\(found.errors)")
        let paths = try folders.flatMap(Self.files)
        #expect(paths.allSatisfy { !$0.contains("mark-") })
        let databases = paths.filter { $0.hasSuffix(".db") || $0.hasSuffix(".sqlite") }
        for path in databases {
            let beginning = try OpenFile(path, flags: O_RDONLY).read(count: 12, at: 0)
            #expect(beginning == Array("ChatFS-pages".utf8), "\(path) is in clear")
        }
        #expect(databases.count >= 7, "\(databases)")
    }

    private static func files(in folder: String) throws -> [String] {
        try PrivateFolder.names(in: OpenFile(folder, flags: O_RDONLY)).flatMap { name -> [String] in
            let path = folder + "/" + name
            var status = stat()
            guard lstat(path, &status) == 0 else { return [] }
            switch status.st_mode & S_IFMT {
            case S_IFDIR: return try files(in: path)
            case S_IFREG: return [path]
            default: return []
            }
        }
    }
}
