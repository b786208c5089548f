import Glibc
import Posix
import TestSupport
import Testing

@Suite("The command chatfs file with a profile", .serialized)
struct StandaloneFileTests {
    private let alice = ["--profile", "alice"]
    private let bob = ["--profile", "bob"]

    private func storedChunks(_ mounts: TwoMounts) throws -> Int {
        try mounts.folder.names(in: "relay/chunks").count
    }

    @Test(
        "a file is uploaded, downloaded and withdrawn",
        arguments: [["alice", "bob"], []], [1000, 3_000_000])
    func sendAndReceive(mounting people: [String], size: Int) async throws {
        let mounts = try await TwoMounts.start(mounting: people, encrypted: false)
        let source = try mounts.folder.write(TwoMounts.bytes(size), to: "film.bin")
        let sent = try await mounts.run(["file", "send", source] + alice)
        let link = sent.output.trimmed
        #expect(link.hasPrefix("simplex:/file#"), "\(sent.output)")
        let number = try #require(sent.errors.firstMatch(of: /number is (\d+)/)?.1, "\(sent.errors)")
        let told = try await ChatFSProcess.run(["file", "info", link])
        #expect(
            told.output.contains("Name: film.bin\n") && told.output.contains("(\(size) bytes)")
                && told.output.contains("Expires: 20"), "\(told.output)")
        let target = mounts.path("copy.bin")
        try await mounts.run(["file", "receive", link, "--out", target] + bob)
        #expect(try mounts.read("copy.bin") == TwoMounts.bytes(size))
        let taken = try await ChatFSProcess.run(
            ["file", "receive", link, "--out", target, "--data", mounts.data] + bob)
        #expect(taken.ending == .code(1) && taken.errors.contains(target), "\(taken.errors)")
        #expect(try storedChunks(mounts) > 0)
        try await mounts.run(["file", "delete", String(number)] + alice)
        // Including the chunks of a long description, which would not be noticed.
        try await wait(until: "the relay has nothing of it") { try storedChunks(mounts) == 0 }
        let late = try await ChatFSProcess.run(
            ["file", "receive", link, "--out", mounts.path("late.bin"), "--data", mounts.data] + bob)
        #expect(late.ending == .code(1) && access(mounts.path("late.bin"), F_OK) != 0)
        let unknown = try await ChatFSProcess.run(
            ["file", "delete", "4711", "--data", mounts.data] + alice)
        #expect(unknown.ending == .code(1) && unknown.errors.contains("no such file"), "\(unknown.errors)")
    }

    @Test("files of the mount itself are refused")
    func refusals() async throws {
        let mounts = try await TwoMounts.start(encrypted: false)
        try await mounts.send(TwoMounts.bytes(1000), as: "a.bin")
        let own = try await ChatFSProcess.run(
            ["file", "send", mounts.path("alice/bob/a.bin"), "--data", mounts.data] + alice)
        #expect(own.ending == .code(1) && own.errors.contains("another place"), "\(own.errors)")
        let missing = try await ChatFSProcess.run(
            ["file", "send", mounts.path("none"), "--data", mounts.data] + alice)
        #expect(missing.ending == .code(1) && missing.errors.contains("none"), "\(missing.errors)")
        for words in [
            ["file", "send", ChatFSProcess.path, "--out", "x"],
            ["file", "send", ChatFSProcess.path, "--relay", mounts.relayAddress],
            ["file", "delete", "snd.xftp.private"],
        ] {
            let outcome = try await ChatFSProcess.run(words + alice)
            #expect(outcome.ending == .code(64), "\(words): \(outcome.errors)")
        }
    }

    @Test(
        "Ctrl-C withdraws the upload, mounted or not",
        arguments: [["alice", "bob"], []])
    func interrupted(mounting people: [String]) async throws {
        let mounts = try await TwoMounts.start(mounting: people, encrypted: false)
        let source = try mounts.folder.write(TwoMounts.bytes(3_000_000), to: "film.bin")
        mounts.relay.send(SIGSTOP)
        let command = try await ChatFSProcess.start(["file", "send", source, "--data", mounts.data] + alice)
        let claim = "SELECT count(*) FROM file WHERE plain_path IS NOT NULL"
        try await wait(until: "the transfer has begun") { try await mounts.count(claim) == 1 }
        command.send(SIGINT)
        #expect(try await command.ending(within: .seconds(30)) == .code(130))
        try await wait(until: "it is forgotten") { try await mounts.count(claim) == 0 }
        mounts.relay.send(SIGCONT)
        // The profile is free, or its mount serves the next request.
        let sent = try await mounts.run(["file", "send", source] + alice)
        #expect(sent.output.hasPrefix("simplex:/file#"))
    }
}

extension TwoMounts {
    /// The result of a counting query of the data directory's database.
    fileprivate func count(_ query: String) async throws -> Int? {
        let script =
            "import sqlite3, sys; print(sqlite3.connect(sys.argv[1], timeout=30).execute(sys.argv[2]).fetchone()[0])"
        let outcome = try await Shell.run("python3", ["-c", script, data + "/chatfs.db", query])
        return Int(outcome.output.trimmed)
    }
}

extension String {
    fileprivate var trimmed: String { String(drop { $0.isWhitespace }.prefix { !$0.isWhitespace }) }
}
