import Base
import CommandLineKit
import Desktop
import FileSystem
import Glibc
import Posix

/// `chatfs status`: mounts and their transfers.
enum StatusCommand {
    private static let mountpoint = Argument(
        optional: "MOUNTPOINT", .listed("mountpoints"),
        "Only this mount, by its path, the last part of its path, its name in the configuration, or its profile."
    )
    private static let json = Option.flag("json", "For programs.")
    private static let watch = Option.flag("watch", "Continue, and print the status after each change.")

    static let command = Command(
        "status", "Show mounts and transfers.",
        discussion: """
            Lists each mount with its active, waiting and failed transfers, their reasons, and totals: files, bytes, \
            rate, time left, connections and free disk space. With --json it prints the mount's .chatfs/status.json; \
            without MOUNTPOINT it prints an array of them, in which a mount that does not answer has only its \
            mountpoint and a problem.

            With --watch it prints the status after each change, at most once a second, until Ctrl-C, until the mounts \
            end, or until the reader of the output closes it; with --json one status per line. On a terminal the status \
            fits the screen.
            """,
        section: CommandSection.daily, arguments: [mountpoint], options: [json, watch, CommonOptions.mount],
        examples: [
            Example("chatfs status --json ~/Chats | jq .transfers", "Print the transfers for a script."),
            Example("chatfs status --watch ~/Chats", "Watch the transfers."),
        ],
        waitsForStop: true
    ) { invocation in
        let isNamed = (invocation[mountpoint] ?? invocation[CommonOptions.mount]) != nil
        let named = isNamed ? try await Mounted.chosen(by: invocation) : nil
        let isForPrograms = invocation[json]
        if invocation[watch] {
            var mounts = named.map { [$0] } ?? []
            if mounts.isEmpty { mounts = try await StatusWatch.all() }
            return try await StatusWatch(mounts: mounts, isForPrograms: isForPrograms, stop: invocation.stop)
                .run()
        }
        guard try await invocation.stop.interrupting({ try await show(named, isForPrograms) }) != nil else {
            throw ExitCode(128 + (await invocation.stop.wait()))
        }
    }

    @Sendable private static func show(_ named: Mounted?, _ isForPrograms: Bool) async throws {
        let mounts = try named.map { [$0] } ?? Mounted.all()
        var objects: [String] = []
        var isUnwell = false
        var isAnyShown = false
        for (mounted, answer) in await Mounted.answers(of: mounts) {
            // A mount of another user is shown only if it was named.
            if answer == .foreign, named == nil { continue }
            isAnyShown = true
            if let complaint = StatusLines.complaint(answer, mounted) {
                isUnwell = true
                Terminal.complain("chatfs: \(complaint)")
            }
            if isForPrograms {
                objects.append(json(answer, of: mounted))
            } else if case .status(let bytes) = answer {
                let (latest, rate) = await measured(bytes, of: mounted)
                for line in StatusLines.lines(latest, of: mounted, rate: rate) {
                    Terminal.print(PrintableText.escaping(line))
                }
            }
        }
        if isForPrograms {
            // A named mount is an object, all mounts are an array.
            Terminal.print(named == nil ? "[" + objects.joined(separator: ",\n") + "]" : objects.joined())
        } else if !isAnyShown {
            Terminal.print("Nothing is mounted.")
        }
        if isUnwell { throw ExitCode.failure }
    }

    /// Returns the status after one second, with the rate of that second in bytes per second. Measures on a
    /// terminal only, and only during transfers.
    private static func measured(
        _ bytes: [UInt8], of mounted: Mounted
    ) async -> (bytes: [UInt8], rate: UInt64?) {
        guard Terminal.isTerminal(STDOUT_FILENO), let first = MountStatus.decoded(bytes),
            first.transfers.contains(where: { ["sending", "receiving"].contains($0.state) })
        else { return (bytes, nil) }
        var rate = TransferRate()
        let beginning = ContinuousClock.now
        _ = rate.add(first.transfers, at: .zero)
        try? await Task.sleep(for: .seconds(1))
        guard case .status(let latest) = await mounted.answer(), let second = MountStatus.decoded(latest)
        else {
            return (bytes, nil)
        }
        return (latest, rate.add(second.transfers, at: ContinuousClock.now - beginning))
    }

    /// Returns the mount's own status, or an object with its mountpoint and the problem.
    private static func json(_ answer: Mounted.Answer, of mounted: Mounted) -> String {
        let problem: String
        switch answer {
        case .status(let bytes):
            let text = String(decoding: bytes, as: UTF8.self)
            return text.hasSuffix("\n") ? String(text.dropLast()) : text
        case .disconnected: problem = "dead"
        case .silent: problem = "silent"
        case .foreign: problem = "foreign"
        case .unasked: problem = "unasked"
        }
        return JSONLine.object([("mountpoint", mounted.mountpoint), ("problem", problem)])
    }
}
