import Glibc
import Posix
import TestSupport
import Testing

/// With dunst, where it is installed: what it prints is what it shows.
@Suite("Notifications of a real daemon", .serialized)
struct RealDesktopTests {
    static let isInstalled = ["Xvfb", "dunst", "dunstctl", "dbus-send"].allSatisfy {
        (try? Shell.find($0)) != nil
    }

    private static func start(
        _ tool: String, _ arguments: [String], _ environment: [String: String?]
    ) async throws -> RunningProcess {
        var settings = ChildProcess.Settings(try Shell.find(tool), arguments)
        settings.environment = environment
        return try await RunningProcess.start(settings)
    }

    @Test(
        "a daemon shows what arrived and why something was refused, and its button sends a file once more",
        .enabled(if: isInstalled, "dunst and xvfb are not installed"))
    func dunst() async throws {
        let desktop = try await NotificationDesktop.start(nil)
        let screen = try await Self.start(
            "Xvfb", ["-displayfd", "1", "-screen", "0", "800x600x24", "-nolisten", "tcp"], [:])
        defer { screen.send(SIGKILL) }
        var environment = desktop.environment
        environment["DISPLAY"] = ":" + (try await screen.line("its number"))
        environment["WAYLAND_DISPLAY"] = .some(nil)
        let daemon = try await Self.start("dunst", ["-conf", "/dev/null", "-print"], environment)
        defer { daemon.send(SIGKILL) }

        let mounts = try await TwoMounts.start(mounting: ["bob"])
        try await mounts.mount(
            "alice", ["--quiet-time", "3s", "--folders", "refuse"], environment: environment)
        try mounts.write([1], to: "bob/alice/<i>hello & you.txt")
        try await daemon.line("what arrived") {
            $0.contains("body: '&lt;i&gt;hello &amp; you.txt'") || $0.contains("body: '<i>hello & you.txt'")
        }
        #expect(mkdir(mounts.path("alice/bob/folder"), 0o700) == -1)
        try await daemon.line("why it was refused") { $0.contains("A folder cannot be sent") }
        let before = try await Shell.run("dunstctl", ["close-all"], environment: environment)
        #expect(before.succeeded, "\(before.errors)")

        try mounts.write([1, 2], to: "alice/bob/report.txt")
        try await mounts.run(["contact", "leave", "bob", "--profile", "alice"])
        try await daemon.line("that it could not be sent") {
            $0.contains("body: 'report.txt could not be sent.")
        }
        try await mounts.run(["connect", "alice", "bob"])
        let pressed = try await Shell.run("dunstctl", ["action", "0"], environment: environment)
        #expect(pressed.succeeded, "\(pressed.errors)")
        try await mounts.waitForFile("bob/alice/report.txt")
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
    }
}
