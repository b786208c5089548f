import Glibc
import Posix
import TestSupport

/// dunst on its own screen. The test uses it like a person: clicks the newest notification, or a button of its menu.
final class RealDaemon {
    static let isInstalled = ["Xvfb", "dunst", "dunstctl", "dbus-send"].allSatisfy {
        (try? Shell.find($0)) != nil
    }

    private let folder: TemporaryFolder
    private let screen: RunningProcess
    private let daemon: RunningProcess
    let environment: [String: String?]

    /// - Parameter desktop: A desktop without a notification service.
    static func start(on desktop: NotificationDesktop) async throws -> RealDaemon {
        let folder = try TemporaryFolder()
        // Chooses a line of the menu, like dmenu.
        let chooser = try folder.write(
            Array(
                "#!/bin/sh\ntee '\(folder.path("menu"))' | grep -m1 -F \"#$(cat '\(folder.path("want"))') \"\n"
                    .utf8),
            to: "chooser")
        chmod(chooser, 0o700)
        let configuration = try folder.write(
            Array("[global]\ndmenu = \(chooser)\nidle_threshold = 0\n".utf8), to: "dunstrc")
        let screen = try await run(
            "Xvfb", ["-displayfd", "1", "-screen", "0", "800x600x24", "-nolisten", "tcp"], [:])
        var environment = desktop.environment
        environment["DISPLAY"] = ":" + (try await screen.line("its number"))
        environment["WAYLAND_DISPLAY"] = .some(nil)
        let daemon = try await run("dunst", ["-conf", configuration, "-print"], environment)
        return RealDaemon(folder, screen, daemon, environment)
    }

    private init(
        _ folder: TemporaryFolder, _ screen: RunningProcess, _ daemon: RunningProcess,
        _ environment: [String: String?]
    ) {
        (self.folder, self.screen, self.daemon, self.environment) = (folder, screen, daemon, environment)
    }

    deinit {
        daemon.send(SIGKILL)
        screen.send(SIGKILL)
    }

    private static func run(
        _ tool: String, _ arguments: [String], _ environment: [String: String?]
    ) async throws -> RunningProcess {
        var settings = ChildProcess.Settings(try Shell.find(tool), arguments)
        settings.environment = environment
        return try await RunningProcess.start(settings)
    }

    /// Waits until a notification with these words is shown.
    func waitFor(_ words: String) async throws {
        try await daemon.line(words) { $0.contains(words) }
    }

    /// Clicks the newest notification.
    func click() async throws { try await control("action", "0") }

    /// Opens the menu and presses the first button of that name.
    func press(_ button: String) async throws {
        try folder.write(Array(button.utf8), to: "want")
        try await control("context")
        try await wait(until: "the menu has \(button)") {
            String(decoding: (try? self.folder.read("menu")) ?? [], as: UTF8.self).contains("#\(button) ")
        }
    }

    /// Closes all notifications.
    func clear() async throws { try await control("close-all") }

    private func control(_ arguments: String...) async throws {
        let outcome = try await Shell.run("dunstctl", arguments, environment: environment)
        guard outcome.succeeded else { throw WaitedInVain(outcome.errors) }
    }
}
