import CommandLineKit
import Glibc
import Posix
import TestSupport
import Testing

@Suite("contrib/install")
struct InstallTests {
    private static let root = LayeringTests.root

    @Test(
        "installs a program that runs, with its page, completions and units, and takes all of it away again")
    func install() async throws {
        let folder = try TemporaryFolder()
        let prefix = folder.path("a prefix")
        let script = "\(Self.root)/contrib/install"
        let made = try await Shell.run(script, ["--prefix", prefix, "--program", ChatFSProcess.path])
        try #require(made.succeeded, "\(made.errors)")
        #expect(made.errors.contains("is not in PATH"))
        #expect(try await Shell.run(prefix + "/bin/chatfs", ["--version"]).output.hasPrefix("chatfs "))
        let page = try folder.read("a prefix/share/man/man1/chatfs.1")
        #expect(String(decoding: page, as: UTF8.self).hasPrefix(".TH"))
        for (name, word) in [
            ("bash-completion/completions/chatfs", "complete"),
            ("zsh/site-functions/_chatfs", "#compdef chatfs"),
            ("fish/vendor_completions.d/chatfs.fish", "complete -c chatfs"),
            ("applications/chatfs.desktop", "[Desktop Entry]"),
        ] {
            let text = String(decoding: try folder.read("a prefix/share/" + name), as: UTF8.self)
            #expect(text.contains(word), "\(name)")
        }
        for unit in ["chatfs@.service", "chatfs-verify.service"] {
            let text = String(decoding: try folder.read("a prefix/share/systemd/user/" + unit), as: UTF8.self)
            #expect(text.contains("ExecStart=\(prefix)/bin/chatfs "), "\(text)")
        }
        let unit = String(
            decoding: try folder.read("a prefix/share/systemd/user/chatfs@.service"), as: UTF8.self)
        let final = [ExitCode.usage, .locked].map { "\($0.value)" }.joined(separator: " ")
        #expect(unit.contains("\nRestartPreventExitStatus=\(final)\n"))
        let removed = try await Shell.run(script, ["--prefix", prefix, "--uninstall"])
        #expect(removed.succeeded, "\(removed.errors)")
        #expect(try await Shell.run("find", [prefix, "-type", "f"]).output == "")
        let wrong = try await Shell.run(script, ["--nowhere"])
        #expect(wrong.ending == .code(64))
    }
}
