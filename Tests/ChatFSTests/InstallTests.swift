import CommandLineKit
import Glibc
import Posix
import TestSupport
import Testing

@testable import chatfs

@Suite("The script contrib/install")
struct InstallTests {
    private static let root = LayeringTests.root

    @Test(
        "installing and uninstalling are complete")
    func install() async throws {
        let folder = try TemporaryFolder()
        let prefix = folder.path("a prefix")
        let script = "\(Self.root)/contrib/install"
        let made = try await Shell.run(script, ["--prefix", prefix, "--program", ChatFSProcess.path])
        try #require(made.succeeded, "\(made.errors)")
        #expect(made.errors.contains("is not in PATH"))
        let said = try await Shell.run(prefix + "/bin/chatfs", ["--version"]).output
        let version = said.dropFirst("chatfs ".count).dropLast()
        #expect(said.hasPrefix("chatfs "))
        let page = try folder.read("a prefix/share/man/man1/chatfs.1")
        #expect(String(decoding: page, as: UTF8.self).hasPrefix(".TH"))
        for (name, word) in [
            ("bash-completion/completions/chatfs", "complete"),
            ("zsh/site-functions/_chatfs", "#compdef chatfs"),
            ("fish/vendor_completions.d/chatfs.fish", "complete -c chatfs"),
            ("applications/chatfs.desktop", "[Desktop Entry]"),
            ("icons/hicolor/scalable/apps/chatfs.svg", "<svg"),
            ("metainfo/org.chatfs.ChatFS.metainfo.xml", "<release version=\"\(version)\""),
            ("man/man1/chatfs-mount.1", ".TH CHATFS\\-MOUNT 1"),
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
        // An upgrade removes files that the new version lacks.
        try folder.write(Array("file share/left-over\n".utf8), to: "added")
        _ = try await Shell.script("cat '\(folder.path("added"))' >>'\(prefix)/share/chatfs/installed'")
        try folder.write([], to: "a prefix/share/left-over")
        let upgraded = try await Shell.run(script, ["--prefix", prefix, "--program", ChatFSProcess.path])
        #expect(upgraded.succeeded, "\(upgraded.errors)")
        #expect(access(prefix + "/share/left-over", F_OK) != 0)
        let wrong = try await Shell.run(script, ["--nowhere"])
        #expect(wrong.ending == .code(64))
    }

    @Test func versionIsConsistent() throws {
        #expect(try LayeringTests.text("debian/changelog").hasPrefix("chatfs (\(Release.version)) "))
        let changes = try LayeringTests.text("CHANGELOG.md").split(separator: "\n")
        #expect(changes.first { $0.hasPrefix("## ") }?.split(separator: " ")[1] == Release.version[...])
    }

    /// A home with an installed ChatFS in a prefix.
    private func installed(in folder: TemporaryFolder) async throws -> String {
        let made = try await Shell.script(
            "HOME='\(folder.path)' \(Self.root)/contrib/install --program '\(ChatFSProcess.path)'")
        try #require(made.succeeded, "\(made.errors)")
        return folder.path(".local")
    }

    private func uninstall(_ home: TemporaryFolder) async throws -> String {
        let removed = try await Shell.script(
            "unset XDG_CONFIG_HOME; HOME='\(home.path)' \(Self.root)/contrib/install --uninstall")
        #expect(removed.succeeded, "\(removed.errors)")
        return removed.errors
    }

    @Test func uninstallingReportsAndRemovesFolders() async throws {
        let home = try TemporaryFolder()
        let prefix = try await installed(in: home)
        let said = try await uninstall(home)
        for name in ["bin/chatfs", "share/man/man1/chatfs.1", "share/systemd/user/chatfs@.service"] {
            #expect(said.contains("removed \(prefix)/\(name)\n"), "\(said)")
        }
        #expect(access(prefix, F_OK) != 0)
        #expect(try await uninstall(home).contains("nothing is installed"))
    }

    @Test func uninstallingKeepsForeignFiles() async throws {
        let home = try TemporaryFolder()
        mkdir(home.path(".local"), 0o755)
        mkdir(home.path(".local/bin"), 0o755)
        let prefix = try await installed(in: home)
        try home.write([], to: ".local/share/man/man1/other.1")
        _ = try await uninstall(home)
        let left = try await Shell.script("cd '\(prefix)' && find . | LC_ALL=C sort").output
        #expect(left == ".\n./bin\n./share\n./share/man\n./share/man/man1\n./share/man/man1/other.1\n")
    }

    @Test func uninstallingDisablesUnits() async throws {
        let home = try TemporaryFolder()
        let prefix = try await installed(in: home)
        let wants = home.path(".config/systemd/user/default.target.wants")
        let made = try await Shell.script(
            """
            mkdir -p '\(wants)'
            ln -s '\(prefix)/share/systemd/user/chatfs@.service' '\(wants)/chatfs@Chats.service'
            ln -s /elsewhere/other.service '\(wants)/other.service'
            """)
        #expect(made.succeeded)
        #expect(try await uninstall(home).contains("disabled chatfs@Chats.service"))
        #expect(try await Shell.run("ls", [wants]).output == "other.service\n")
    }

    /// A timer, and a unit of the template that 'chatfs service install' writes for a prefix that systemd does not search.
    @Test func uninstallingStopsAllItsUnits() async throws {
        let home = try TemporaryFolder()
        let prefix = home.path("opt/chatfs")
        let units = home.path(".config/systemd/user")
        try home.write(
            Array("#!/bin/sh\necho \"$*\" >>'\(home.path("calls"))'\n".utf8), to: "systemctl")
        chmod(home.path("systemctl"), 0o755)
        let script = "unset XDG_CONFIG_HOME; export HOME='\(home.path)'; export PATH=\"$HOME:$PATH\"; "
        let install = "\(Self.root)/contrib/install --prefix '\(prefix)'"
        let made = try await Shell.script(
            script + """
                \(install) --program '\(ChatFSProcess.path)' && mkdir -p '\(units)/timers.target.wants' &&
                mkdir '\(units)/default.target.wants' && cd '\(units)' &&
                ln -s '\(units)/chatfs@.service' default.target.wants/chatfs@home.service &&
                ln -s '\(prefix)/share/systemd/user/chatfs-verify.timer' timers.target.wants/
                """)
        try #require(made.succeeded, "\(made.errors)")
        let template = ServiceUnit.text(program: prefix + "/bin/chatfs")
        try home.write(Array(template.utf8), to: ".config/systemd/user/chatfs@.service")
        let removed = try await Shell.script(script + install + " --uninstall")
        #expect(removed.succeeded, "\(removed.errors)")
        let calls = String(decoding: try home.read("calls"), as: UTF8.self)
        #expect(calls == "--user stop chatfs@home.service\n--user stop chatfs-verify.timer\n")
        #expect(try home.names(in: ".config/systemd/user").isEmpty, "\(removed.errors)")
    }

    @Test func packagesUseDebianFolders() async throws {
        let folder = try TemporaryFolder()
        let made = try await Shell.script(
            """
            DESTDIR='\(folder.path("root"))' \(Self.root)/contrib/install --prefix /usr \
                --program '\(ChatFSProcess.path)'
            """)
        try #require(made.succeeded, "\(made.errors)")
        let usr = folder.path("root/usr")
        for name in ["share/zsh/vendor-completions/_chatfs", "lib/systemd/user/chatfs-verify.timer"] {
            #expect(access(usr + "/" + name, F_OK) == 0, "\(name)")
        }
        #expect(access(usr + "/share/chatfs/installed", F_OK) != 0)
        let unit = try folder.read("root/usr/lib/systemd/user/chatfs@.service")
        #expect(String(decoding: unit, as: UTF8.self).contains("ExecStart=/usr/bin/chatfs mount"))
    }
}
