import Glibc
import Posix
import TestSupport
import Testing

@Suite("Misuse")
struct MisuseTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var data: String { folder.path("data") }

    private func chatfs(_ words: [String]) async throws -> Shell.Outcome {
        try await ChatFSProcess.run(words + ["--data", data])
    }

    @Test(
        "an unreadable data directory is not new",
        arguments: [
            ["profile", "list"], ["key", "status"], ["key", "status", "--json"], ["key", "test"], ["verify"],
            ["storage", "show"],
        ])
    func unreadable(words: [String]) async throws {
        // A link to itself, which not even root can follow.
        try #require(symlink("data", data) == 0)
        let outcome = try await chatfs(words)
        #expect(outcome.ending == .code(1) && outcome.output == "", "\(outcome.output)")
        #expect(
            outcome.errors.contains(data) && outcome.errors.contains("symbolic links"), "\(outcome.errors)")
        let mount = try await chatfs(["mount", folder.path("mount")])
        #expect(mount.ending == .code(1) && mount.errors.contains("symbolic links"), "\(mount.errors)")
        #expect(access(folder.path("mount"), F_OK) != 0)
    }

    /// Not at the first arrival, and before a mount is looked for.
    @Test func programOfEventsIsCheckedFirst() async throws {
        let file = try folder.write(Array("#!/bin/sh\n".utf8), to: "program")
        #expect(chmod(file, 0o600) == 0)
        for program in [folder.path("nothing"), folder.path, file] {
            let outcome = try await ChatFSProcess.run(["events", folder.path("mount"), "--exec", program])
            #expect(outcome.ending == .code(1), "\(program)")
            #expect(outcome.errors.contains("\(program): "), "\(outcome.errors)")
        }
    }

    @Test("plain data needs no key")
    func plain() async throws {
        #expect(try await chatfs(["profile", "create", "alice", "--no-encryption"]).succeeded)
        for words in [["key", "recovery"], ["key", "forget"]] {
            let outcome = try await chatfs(words)
            #expect(outcome.ending == .code(1))
            #expect(
                outcome.errors == "chatfs: The data is not encrypted: 'chatfs key set' encrypts it.\n",
                "\(words): \(outcome.errors)")
        }
        let test = try await chatfs(["key", "test"])
        #expect(
            test.succeeded && test.output == "The data is not encrypted: nothing is needed to unlock it.\n")
    }

    @Test("a usage error has one full stop")
    func fullStops() async throws {
        let outcome = try await chatfs(["mount", folder.path("mount"), "--core", "foo"])
        #expect(outcome.ending == .code(64))
        #expect(!outcome.errors.contains(".. ") && outcome.errors.contains(". Try 'chatfs mount --help'."))
    }

    @Test("values from descriptors name their option")
    func descriptors() async throws {
        let closed = try await chatfs(["profile", "list", "--passphrase-fd", "77"])
        let empty = try await Shell.script(
            "\"$CHATFS\" key test --key-fd 0 --data \(data) </dev/null",
            environment: ["CHATFS": ChatFSProcess.path])
        #expect(closed.errors.hasPrefix("chatfs: --passphrase-fd: "), "\(closed.errors)")
        #expect(empty.errors.hasPrefix("chatfs: --key-fd: "), "\(empty.errors)")
    }

    @Test("unusable files are named")
    func paths() async throws {
        for name in ["alice", "bob"] { #expect(try await chatfs(["profile", "create", name]).succeeded) }
        #expect(try await chatfs(["connect", "alice", "bob"]).succeeded)
        let missing = folder.path("missing")
        let sent = try await chatfs(["send", missing, "bob", "--profile", "alice"])
        #expect(
            sent.errors == "chatfs: \(missing): Could not open a file: No such file or directory.\n",
            "\(sent.errors)")
        let file = try folder.write([1], to: "file")
        let mounted = try await chatfs(["mount", file, "--profile", "alice"])
        #expect(
            mounted.ending == .code(1) && mounted.errors.hasPrefix("chatfs: \(file): "), "\(mounted.errors)")
        let retried = try await ChatFSProcess.run(["retry", file, "--yes"])
        #expect(retried.errors == "chatfs: \(file): The path is not on a mount of ChatFS.\n")
    }

    @Test("invalid option values exit with 64")
    func values() async throws {
        let file = try folder.write([1], to: "file")
        let outcome = try await ChatFSProcess.run([
            "cryptofile", "decrypt", file, folder.path("out"), "--key", "x", "--nonce", "y",
        ])
        #expect(
            outcome.ending == .code(64) && outcome.errors.contains("--key and --nonce: "), "\(outcome.errors)"
        )
    }

    @Test("pipes are refused as files to send")
    func pipe() async throws {
        let pipe = folder.path("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
        let relay = "xftp://\(String(repeating: "A", count: 43))=@127.0.0.1:1"
        let outcome = try await ChatFSProcess.run([
            "file", "send", pipe, "--relay", relay, "--out", folder.path("out"),
        ])
        #expect(outcome.ending == .code(1))
        #expect(outcome.errors.contains("\(pipe): Only a regular file can be sent."), "\(outcome.errors)")
        #expect(access(folder.path("out"), F_OK) != 0)
    }

    @Test("a relay names its unencrypted data")
    func relay() async throws {
        let relay = try await ChatFSProcess.start(["relay", "--dir", folder.path("relay"), "--no-encryption"])
        try await relay.line("its address") { $0.hasPrefix("xftp://") }
        try await relay.terminate()
        #expect(relay.errors.contains("keys of the relay"))
        #expect(!relay.errors.contains("names, messages"))
    }
}
