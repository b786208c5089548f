import Base
import CommandLineKit
import Configuration
import Posix

/// `chatfs service`: mounts of the configuration as units of this user's systemd.
enum ServiceCommand {
    private static let noStart = Option.flag("no-start", "Do not start them before the next login.")
    private static let follow = Option.flag("follow", short: "f", "Continue with new lines until Ctrl-C.")
    private static let lines = Option(
        "lines", short: "n", named: "COUNT", .integer(1...1_000_000), default: 50,
        "Number of lines from the end.")

    static let command = Command(
        "service", "Mount with systemd at every login.",
        discussion: """
            Each mount of the configuration ('chatfs help config') can be a systemd unit, chatfs@NAME.service. It \
            starts at login and ends at logout; systemd restarts a mount that crashes or hangs. Without NAME these \
            commands apply to all mounts of the configuration. User units end with the desktop or the last session, \
            unless 'loginctl enable-linger' keeps those without a desktop. A unit cannot ask for a passphrase: the \
            keyring, 'chatfs unlock' or a credential unlocks the data.

            Without systemd, 'chatfs mount NAME --background' does the same for one session.
            """,
        section: CommandSection.daily,
        examples: [
            Example("chatfs service install home", "Mount it now and at every login."),
            Example("chatfs service status", "Show the state of all units."),
        ],
        subcommands: [
            Command(
                "install", "Enable the units of mounts, and start them.",
                discussion: """
                    Writes chatfs@.service into ${XDG_CONFIG_HOME:-~/.config}/systemd/user if no package has installed \
                    it.
                    """,
                arguments: [name], options: [noStart]
            ) { invocation in
                try await install(chosen(invocation, isConfigured: true), starts: !invocation[noStart])
            },
            Command(
                "uninstall", "Stop and disable the units of mounts.",
                discussion: "Prints each removed item. Data and configuration stay.",
                arguments: [name]
            ) { try await uninstall(chosen($0)) },
            Command("start", "Start the units of mounts.", arguments: [name]) {
                try await start(chosen($0), with: .found())
            },
            Command("stop", "Stop the units of mounts.", arguments: [name]) { invocation in
                let services = try await UserServices.found()
                for mount in try await chosen(invocation) {
                    try await services.carryOut(["stop", ServiceUnit.name(of: mount)])
                    Terminal.print(PrintableText.escaping("\(mount): not mounted"))
                }
            },
            Command(
                "status", "Show the state of the units.",
                discussion: "Ends with 1 if one has failed.", arguments: [name],
                options: [ProgramConnection.json]
            ) { try await show(chosen($0), isForPrograms: $0[ProgramConnection.json]) },
            Command(
                "logs", "Print the journal of mounts.", arguments: [name], options: [follow, lines]
            ) { try await logs(chosen($0), lines: $0[lines], follows: $0[follow]) },
        ])

    private static let name = Argument(
        optional: "NAME", .listed("mounts"), "A mount of the configuration; default all.")

    /// - Parameter isConfigured: True if the name must be in the configuration.
    /// - Throws: `Refusal` for a name that cannot name a unit, and for a configuration without mounts.
    @Sendable private static func chosen(
        _ invocation: Invocation, isConfigured: Bool = false
    ) async throws -> [String] {
        let named = invocation[name]
        if let named, !isConfigured { return [try checked(named)] }
        let mounts = try await ThreadPool.shared.run { () throws(ConfigurationError) in
            try ConfigurationAccess.read().mounts.map(\.name)
        }
        guard let named else {
            guard !mounts.isEmpty else {
                throw Refusal(
                    "The configuration has no mount: 'chatfs config edit' adds one, as [mounts.home] with "
                        + "mountpoint = \"~/Chats\".")
            }
            return try mounts.map(checked)
        }
        guard mounts.contains(named) else {
            throw Refusal(
                "The configuration has no mount '\(named)'" + Suggestion.text(for: named, among: mounts) + "."
            )
        }
        return [try checked(named)]
    }

    /// Rejects names that systemd would expand in the unit's command line, and names over the limit for
    /// units.
    private static func checked(_ mount: String) throws(Refusal) -> String {
        guard !mount.contains("$"), !mount.contains("/"), ServiceUnit.name(of: mount).utf8.count < 256 else {
            throw Refusal("'\(mount)' cannot name a unit: choose a short name without $ and /.")
        }
        return mount
    }

    // MARK: - Changing

    private static func install(_ mounts: [String], starts: Bool) async throws {
        let services = try await UserServices.found()
        if let path = try await ThreadPool.shared.run({ () throws(any Error) in try services.provideTemplate()
        }) {
            Terminal.print(PrintableText.escaping("wrote \(path)"))
        }
        try await services.carryOut(["daemon-reload"])
        for mount in mounts {
            let unit = ServiceUnit.name(of: mount)
            try await services.carryOut(["enable", "--quiet", unit])
            Terminal.print(PrintableText.escaping("enabled \(unit)"))
        }
        if starts { try await start(mounts, with: services) }
    }

    private static func start(_ mounts: [String], with services: UserServices) async throws {
        var hasFailed = false
        for mount in mounts {
            // Otherwise systemd refuses to start a unit that failed too often.
            _ = try await services.ask(["reset-failed", ServiceUnit.name(of: mount)])
            let answer = try await services.start(mount)
            let state = try await services.state(of: mount)
            if !state.isKnown {
                Terminal.complain("chatfs: \(mount): \(answer.reason)")
            } else {
                Terminal.print(PrintableText.escaping("\(mount): \(state.words)"))
            }
            hasFailed = hasFailed || !answer.succeeded
        }
        if hasFailed { throw ExitCode.failure }
    }

    private static func uninstall(_ mounts: [String]) async throws {
        let services = try await UserServices.found()
        for mount in mounts {
            let unit = ServiceUnit.name(of: mount)
            let state = try await services.state(of: mount)
            guard state.isEnabled || state.active != "inactive" else {
                Terminal.print(PrintableText.escaping("\(mount): not installed"))
                continue
            }
            try await services.carryOut(["disable", "--quiet", "--now", unit])
            _ = try await services.ask(["reset-failed", unit])
            Terminal.print(PrintableText.escaping("disabled \(unit)"))
        }
        if let path = await ThreadPool.shared.run({ services.removeTemplate() }) {
            Terminal.print(PrintableText.escaping("removed \(path)"))
            try await services.carryOut(["daemon-reload"])
        }
    }

    // MARK: - Status and logs

    private struct Shown: Encodable {
        var name: String
        var unit: String
        var state: String
        var enabled: Bool
        var status: String?
        var result: String?
        var pid: Int32?
    }

    private static func show(_ mounts: [String], isForPrograms: Bool) async throws {
        let services = try await UserServices.found()
        var hasFailed = false
        for mount in mounts {
            let state = try await services.state(of: mount)
            hasFailed = hasFailed || state.active == "failed"
            let line =
                if isForPrograms {
                    try ProgramConnection.json(
                        Shown(
                            name: mount, unit: ServiceUnit.name(of: mount), state: state.active,
                            enabled: state.isEnabled, status: state.text.isEmpty ? nil : state.text,
                            result: state.active == "failed" ? state.result : nil,
                            pid: state.process == 0 ? nil : state.process))
                } else { PrintableText.escaping("\(mount): \(state.words)") }
            Terminal.print(line)
        }
        if hasFailed { throw ExitCode.failure }
    }

    private static func logs(_ mounts: [String], lines: Int, follows: Bool) async throws {
        guard let program = ProgramSearch.path(of: "journalctl") else {
            throw Refusal(
                "This machine has no journal: the log of a mount is profiles/N/log in the data directory.")
        }
        let units = mounts.flatMap { ["--unit", ServiceUnit.name(of: $0)] }
        let settings = ChildProcess.Settings(
            program,
            ["--user", "--no-pager", "--output=short-iso", "--lines=\(lines)"] + (follows ? ["--follow"] : [])
                + units)
        let journal = try await ChildProcess.start(settings)
        var ending = journal.endingIfEnded()
        while ending == nil {
            try await Task.sleep(for: .milliseconds(50))
            ending = journal.endingIfEnded()
        }
        if ending != .code(0) { throw ExitCode.failure }
    }
}
