import Glibc
import TestSupport
import Testing

@testable import chatfs

/// The units as systemd reads them.
@Suite struct UnitVerificationTests {
    private static let tool = try? Shell.find("systemd-analyze")

    /// Writes the installed units with a program that exists.
    private func units() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for name in ["chatfs@.service", "chatfs-verify.service", "chatfs-verify.timer"] {
            let text = try LayeringTests.text("contrib/systemd/" + name)
                .replacing("ExecStart=chatfs ", with: "ExecStart=/bin/true ")
            try folder.write(Array(text.utf8), to: name.replacing("@", with: "@home"))
        }
        return folder
    }

    @Test(.enabled(if: tool != nil)) func systemdFindsNoMistake() async throws {
        let folder = try units()
        let names = try folder.names(in: ".").map { folder.path($0) }
        // The pages need not be installed.
        let outcome = try await Shell.run(
            "systemd-analyze", ["verify", "--user", "--man=no"] + names,
            environment: ["XDG_RUNTIME_DIR": folder.path, "HOME": folder.path])
        #expect(outcome.succeeded && outcome.errors.isEmpty, "\(outcome.errors)")
    }

    /// `PartOf` ends the mount with the desktop. `After` keeps the desktop's target from waiting for the mount.
    @Test func mountEndsWithTheDesktop() throws {
        let lines = ServiceUnit.shared.split(separator: "\n").map(String.init)
        #expect(lines.contains("PartOf=graphical-session.target"))
        #expect(lines.contains("After=graphical-session.target"))
        #expect(lines.contains("WantedBy=" + ServiceUnit.targets.joined(separator: " ")))
    }

    /// The calls that `CallerCheck` and `ChildProcess` need for programs outside of the profile, the programs of
    /// `Confinement`, the environment of `systemctl --user`, and names for files without one (O_TMPFILE).
    @Test func profilePermitsTheProgramsCalls() throws {
        let rules = try LayeringTests.text("debian/apparmor/chatfs").split(separator: "\n")
        for rule in [
            "  ptrace (read),", "  signal (send) peer=unconfined,", "  /usr/bin/ffmpeg mrix,",
            "  /usr/bin/exiftool mrix,", "  /usr/bin/systemctl pux,",
        ] {
            #expect(rules.contains(rule[...]), "\(rule)")
        }
        #expect(rules.contains { $0.hasPrefix("profile chatfs ") && $0.contains("mediate_deleted") })
    }
}
