import Glibc
import Posix
import TestSupport
import Testing

/// Rows of the table "Reading" whose cause is neither a fault nor silence.
@Suite("Errors of reads", .serialized)
struct ReadErrnoTests {
    /// The errno of reading the first byte (0 for success), and the entry's error.
    private static func reading(_ path: String) throws -> (code: Int32, says: String) {
        let descriptor = open(path, O_RDONLY)
        defer { close(descriptor) }
        var byte: UInt8 = 0
        let code = descriptor < 0 || read(descriptor, &byte, 1) == -1 ? errno : 0
        return (code, try ExtendedAttribute.text("user.chatfs.error", of: path) ?? "")
    }

    @Test("a cancelled file fails with ENODATA")
    func cancelled() async throws {
        let mounts = try await TwoMounts.start(encrypted: false)
        mounts.relay.send(SIGSTOP)
        defer { mounts.relay.send(SIGCONT) }
        try mounts.write(TwoMounts.bytes(600_000), to: "alice/bob/secret.bin")
        try await mounts.waitForState("sending", of: "alice/bob/secret.bin")
        try await mounts.waitForFile("bob/alice/secret.bin")
        #expect(unlink(mounts.path("alice/bob/secret.bin")) == 0)
        try await mounts.waitForState("cancelled", of: "bob/alice/secret.bin")
        let answer = try Self.reading(mounts.path("bob/alice/secret.bin"))
        #expect(answer.code == ENODATA && answer.says.contains("sender"), "\(answer)")
    }

    @Test("an incomplete upload fails with ENODATA")
    func neverUploaded() async throws {
        let mounts = try await TwoMounts.start(encrypted: false)
        try await mounts.send(TwoMounts.bytes(600_000), as: "empty.bin")
        try await mounts.change("UPDATE chunk SET stored = 0", in: "../relay/records.db")
        let answer = try Self.reading(mounts.path("bob/alice/empty.bin"))
        #expect(answer.code == ENODATA && answer.says.contains("upload"), "\(answer)")
        // The log names a failure once, without the file's name.
        for _ in 0..<5 { #expect(try Self.reading(mounts.path("bob/alice/empty.bin")).code == ENODATA) }
        // A missing name is no failure.
        #expect(access(mounts.path("bob/alice/nobody.txt"), F_OK) == -1)
        // Log lines arrive through a pipe, after the replies.
        let daemon = try mounts.daemon("bob")
        try await wait(until: "the failure is in the log") { daemon.errors.contains("file failed: file=") }
        let log = daemon.errors
        #expect(log.split(separator: "\n").count { $0.contains("file failed: file=") } == 1, "\(log)")
        #expect(!log.contains("request failed"), "\(log)")
        #expect(!log.contains("empty.bin") && !log.contains("lookup"), "\(log)")
        let report = try await ChatFSProcess.run(["status", "--json", mounts.path("bob")])
        let counted = report.output.firstMatch(of: /"failures" : \{\s*"read" : \{\s*"ENODATA" : (\d+)/)
        #expect(counted.flatMap { Int($0.1) } ?? 0 >= 1, "\(report.output)")
    }

    @Test("a full disk fails with ENOSPC")
    func noRoomForAFile() async throws {
        let folder = try TemporaryFolder()
        let disk = try await SmallDisk(at: try folder.makeFolder("data"), size: "64m,nr_inodes=400")
        // Without root there is no disk of its own, and no limit on the number of files.
        guard !disk.isLimit else { return }
        let mounts = try await TwoMounts.start(in: folder, encrypted: false)
        let bytes = TwoMounts.bytes(600_000)
        try await mounts.send(bytes, as: "film.bin")
        let filled = try await Shell.script(
            "i=0; while true > \"filler$i\"; do i=$((i + 1)); done", folder: folder.path("data"))
        #expect(filled.errors.contains("No space left"), "\(filled.errors)")
        let answer = try Self.reading(mounts.path("bob/alice/film.bin"))
        #expect(answer.code == ENOSPC && answer.says.contains("disk"), "\(answer)")
        let freed = try await Shell.script("rm filler*", folder: folder.path("data"))
        #expect(freed.succeeded, "\(freed.errors)")
        try await wait(until: "it can be read") { (try? mounts.read("bob/alice/film.bin")) == bytes }
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
    }

    @Test("a large file waits for a relay")
    func noRelay() async throws {
        let mounts = try await TwoMounts.start(mounting: [], encrypted: false)
        try await mounts.run(["profile", "create", "carol"])
        try await mounts.run(["connect", "carol", "bob"])
        try await mounts.mount("carol")
        try mounts.write(TwoMounts.bytes(600_000), to: "carol/bob/film.bin")
        try await wait(until: "it says what is missing") {
            try ExtendedAttribute.text("user.chatfs.error", of: mounts.path("carol/bob/film.bin"))?
                .contains("chatfs relay add") == true
        }
        #expect(try mounts.state("carol/bob/film.bin") == "queued")
        #expect(try await mounts.leave("carol") == .code(0))
    }
}
