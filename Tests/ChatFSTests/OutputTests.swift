import Glibc
import Posix
import TestSupport
import Testing

@Suite("Output errors")
struct OutputTests {
    /// Runs the program with standard output on /dev/full, where every write fails.
    private func run(_ arguments: String, environment: [String: String] = [:]) async throws -> Shell.Outcome {
        try await Shell.run(
            "sh", ["-c", "\"$CHATFS\" \(arguments) >/dev/full"],
            environment: environment.merging(["CHATFS": ChatFSProcess.path]) { own, _ in own })
    }

    @Test(
        "a full disk is an error",
        arguments: ["--version", "manual", "completion bash", "help", "status --json"])
    func full(arguments: String) async throws {
        let outcome = try await run(arguments)
        #expect(outcome.ending == .code(1))
        #expect(outcome.errors.contains("the disk is full"), "\(outcome.errors)")
        #expect(outcome.errors.hasPrefix("chatfs: "), "\(outcome.errors)")
    }

    @Test("closed standard output is an error")
    func closed() async throws {
        let outcome = try await Shell.script(
            "exec \"$CHATFS\" manual >&-", environment: ["CHATFS": ChatFSProcess.path])
        #expect(outcome.ending == .code(1))
        #expect(outcome.errors == "chatfs: Could not write to standard output: Bad file descriptor.\n")
    }

    @Test(
        "a closed pipe is no error with SIGPIPE",
        arguments: ["help", "manual"])
    func gone(command: String) async throws {
        for restores in ["True", "False"] {
            let script = """
                import os, subprocess, sys
                ends = os.pipe()
                os.close(ends[0])
                done = subprocess.run(sys.argv[1:], stdout=ends[1], restore_signals=\(restores))
                sys.exit(done.returncode % 256)
                """
            let outcome = try await Shell.run("python3", ["-c", script, ChatFSProcess.path, command])
            #expect(outcome.ending == .code(0) && outcome.errors == "", "\(outcome.ending) \(outcome.errors)")
        }
    }

    @Test("an unprinted key leaves no file")
    func key() async throws {
        let folder = try TemporaryFolder()
        let source = try folder.write(Array("content".utf8), to: "in")
        let target = folder.path + "/out"
        let outcome = try await run("cryptofile encrypt '\(source)' '\(target)'")
        #expect(outcome.ending == .code(1))
        #expect(access(target, F_OK) != 0)
        #expect(outcome.errors.hasPrefix("chatfs: \(target): "), "\(outcome.errors)")
    }

    @Test("a reader may close the output")
    func pipe() async throws {
        let outcome = try await Shell.run(
            "sh", ["-c", "\"$CHATFS\" manual | head -n 1"], environment: ["CHATFS": ChatFSProcess.path])
        #expect(outcome.succeeded && outcome.errors == "", "\(outcome.errors)")
    }

    @Test("errors name the path as typed")
    func paths() async throws {
        let folder = try TemporaryFolder()
        let source = try folder.write([1], to: "in")
        let missing = folder.path + "/missing"
        let first = try await ChatFSProcess.run(["cryptofile", "encrypt", missing, folder.path + "/out"])
        #expect(first.errors == "chatfs: \(missing): Could not open a file: No such file or directory.\n")
        let nowhere = folder.path + "/nowhere/out"
        let second = try await ChatFSProcess.run(["cryptofile", "encrypt", source, nowhere])
        #expect(second.errors.hasPrefix("chatfs: \(nowhere): "), "\(second.errors)")
        let third = try await ChatFSProcess.run(["file", "info", missing])
        #expect(third.errors.hasPrefix("chatfs: \(missing): "), "\(third.errors)")
        let fourth = try await ChatFSProcess.run(["hydrate", missing])
        #expect(fourth.errors.hasPrefix("chatfs: \(missing): "), "\(fourth.errors)")
    }

    @Test("--verbose adds the causes")
    func causes() async throws {
        let folder = try TemporaryFolder()
        let data = try folder.write([1], to: "data")
        let plain = try await ChatFSProcess.run(["profile", "list", "--data", data])
        let verbose = try await ChatFSProcess.run(["profile", "list", "--data", data, "-v"])
        #expect(plain.ending == .code(1) && verbose.ending == .code(1))
        #expect(plain.errors.split(separator: "\n").count == 1)
        #expect(verbose.errors.hasPrefix(plain.errors))
        #expect(verbose.errors.contains("    because: "), "\(verbose.errors)")
    }
}
