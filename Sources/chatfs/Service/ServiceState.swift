import CommandLineKit

/// The state of a unit, parsed from `systemctl show`. A pure value.
struct ServiceState: Equatable {
    /// The properties that `init` reads.
    static let properties =
        "Id,LoadState,ActiveState,StatusText,UnitFileState,Result,MainPID,ExecMainStatus"

    var unit: String
    /// True if systemd knows the unit.
    var isKnown: Bool
    /// `active`, `activating`, `inactive`, `failed`, …
    var active: String
    /// True if it starts at login.
    var isEnabled: Bool
    /// Status text from the mount; empty if it does not run.
    var text: String
    /// `success`, or the reason for its end: `exit-code`, `signal`, `watchdog`, `start-limit-hit`, …
    var result: String
    /// Process id; 0 if it does not run.
    var process: Int32
    /// The exit code of its last process.
    var code: Int32

    /// - Parameter output: Lines of the form `NAME=value`.
    init(_ output: String) {
        var values: [Substring: String] = [:]
        for line in output.split(separator: "\n") {
            guard let equals = line.firstIndex(of: "=") else { continue }
            values[line[..<equals]] = String(line[line.index(after: equals)...])
        }
        unit = values["Id"] ?? ""
        isKnown = values["LoadState"] == "loaded"
        active = values["ActiveState"] ?? "unknown"
        isEnabled = values["UnitFileState"]?.hasPrefix("enabled") ?? false
        text = values["StatusText"] ?? ""
        result = values["Result"] ?? ""
        process = values["MainPID"].flatMap { Int32($0) } ?? 0
        code = values["ExecMainStatus"].flatMap { Int32($0) } ?? 0
    }

    /// Present state and behaviour at the next login, for display.
    var words: String {
        let login = isEnabled ? "starts at login" : "not at login"
        switch active {
        case "active": return "mounted, \(login)" + (text.isEmpty ? "" : ": \(text)")
        case "activating", "reloading": return "being mounted, \(login)"
        case "deactivating": return "being unmounted, \(login)"
        case "failed": return "failed (\(reason)), \(login)"
        default: return "not mounted, \(login)"
        }
    }

    /// Reason for a failure, and its remedy.
    private var reason: String {
        switch result {
        case "watchdog": "the mount did not answer"
        case "start-limit-hit": "five failures in a minute: see 'chatfs service logs'"
        case "timeout": "timeout at start or stop"
        case "exit-code" where code == ExitCode.locked.value:
            "the data is locked: unlock the keyring or run 'chatfs unlock', then start it again"
        default: "see 'chatfs service logs'"
        }
    }
}
