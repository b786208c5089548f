import Posix
import TestSupport
import Testing

@Suite("The program")
struct ProgramTests {
    @Test("--version and --help succeed on standard output")
    func help() async throws {
        let version = try await ChatFSProcess.run(["--version"])
        #expect(version.succeeded)
        #expect(version.output.wholeMatch(of: /chatfs \d+\.\d+\.\d+\n/) != nil)
        let details = try await ChatFSProcess.run(["--version", "-v"])
        #expect(details.output.hasPrefix(version.output + "commit "))
        for name in ["Swift", "libfuse", "OpenSSL", "libsodium", "nghttp2", "SQLite", "glibc"] {
            #expect(details.output.contains(try Regex("\n\(name) \\d+\\.\\d")), "\(name)")
        }
        let help = try await ChatFSProcess.run(["--help"])
        #expect(help.succeeded && help.errors == "")
        #expect(help.output.contains("Usage: chatfs COMMAND"))
        #expect(help.output.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }

    @Test("a usage error is one line with 64", arguments: [["mout"], ["--x"]])
    func usage(words: [String]) async throws {
        let outcome = try await ChatFSProcess.run(words)
        #expect(outcome.ending == .code(64))
        #expect(outcome.output == "")
        #expect(outcome.errors.split(separator: "\n").count == 1)
        #expect(outcome.errors.hasSuffix("Try 'chatfs --help'.\n"))
    }

    @Test("every command has its help")
    func everyCommand() async throws {
        let page = try await ChatFSProcess.run(["manual"])
        try #require(page.succeeded)
        let synopses = page.output.matches(of: /(?m)^\.SS chatfs ([a-z]+(?: [a-z]+)?)/).map { String($0.1) }
        #expect(synopses.count > 2)
        for synopsis in Set(synopses) {
            let words = synopsis.split(separator: " ").map(String.init)
            let help = try await ChatFSProcess.run(words + ["--help"])
            #expect(help.succeeded)
            #expect(help.output.contains("Usage: chatfs \(synopsis)"))
            // Examples are not wrapped.
            let text = help.output.split(separator: "\n").filter { !$0.hasPrefix("  $ ") }
            #expect(text.allSatisfy { $0.count <= 80 }, "\(help.output)")
        }
    }

    @Test(
        "shells accept their scripts", arguments: ["bash", "zsh", "fish"])
    func completions(shell: String) async throws {
        let folder = try TemporaryFolder()
        let script = try await ChatFSProcess.run(["completion", shell])
        try #require(script.succeeded)
        let path = try folder.write(Array(script.output.utf8), to: "script")
        // bash is always installed, other shells if available.
        guard let tool = try? Shell.find(shell) else { return }
        let outcome = try await Shell.run(tool, ["-n", path])
        #expect(outcome.succeeded && outcome.errors == "", "\(outcome.errors)")
    }

    @Test(
        "bash completes commands, options and choices",
        arguments: [
            ("chatfs crypt", "cryptofile"), ("chatfs cryptofile d", "decrypt"),
            ("chatfs cryptofile decrypt --n", "--nonce"), ("chatfs completion z", "zsh"),
        ])
    func bash(line: String, answer: String) async throws {
        let outcome = try await Shell.run(
            "bash",
            [
                "-c",
                """
                eval "$("$CHATFS" completion bash)"
                COMP_WORDS=(chatfs); COMP_LINE="$1"; COMP_POINT=${#COMP_LINE}; _chatfs; echo "${COMPREPLY[*]}"
                """, "bash", line,
            ], environment: ["CHATFS": ChatFSProcess.path])
        #expect(outcome.output == answer + "\n", "\(outcome.errors)")
    }
}
