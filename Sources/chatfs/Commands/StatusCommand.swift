import Base
import CommandLineKit
import Desktop
import FileSystem
import Glibc
import Posix

/// `chatfs status`: what is mounted, and what is on its way.
enum StatusCommand {
    static let command = Command(
        "status", "Show what is mounted and what is on its way.",
        discussion: """
            Lists each mount with the files that are being sent or received, wait, or could not go, and \
            why, with totals: files, bytes, rate and time left, connections, and room on the disks. With --json it prints the mount's own .chatfs/status.json; without MOUNTPOINT an array of them, \
            in which a mount that does not answer has only its mountpoint and a problem.

            With --watch it prints the status again whenever something changes, at most once a second, until Ctrl-C, \
            until the mounts end, or until nobody reads it any more; with --json each on one line. On a terminal it shows \
            what fits on the screen.
            """,
        section: CommandSection.daily,
        arguments: [
            Argument(
                "MOUNTPOINT", .listed("mountpoints"), count: .optional,
                "Only this mount: its path, the last name of it, or its profile.")
        ],
        options: [
            .flag("json", "For programs."),
            .flag("watch", "Go on, and print it again whenever something changes."),
            CommonOptions.mount,
        ],
        examples: [
            Example("chatfs status --json ~/Chats | jq .transfers", "For a script."),
            Example("chatfs status --watch ~/Chats", "What is on its way, as it moves."),
        ],
        waitsForStop: true
    ) { invocation in
        let isNamed = (invocation.optionalArgument("MOUNTPOINT") ?? invocation["mount"]) != nil
        let named = isNamed ? try await Mounted.chosen(by: invocation) : nil
        let isForPrograms = invocation.has("json")
        if invocation.has("watch") {
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
        for mounted in mounts {
            let answer = await mounted.answer()
            // Somebody else's: of no interest unless asked for.
            if answer == .foreign, named == nil { continue }
            isAnyShown = true
            if let complaint = complaint(answer, mounted) {
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
            // One that was named is an object, all there are an array.
            Terminal.print(named == nil ? "[" + objects.joined(separator: ",\n") + "]" : objects.joined())
        } else if !isAnyShown {
            Terminal.print("Nothing is mounted.")
        }
        if isUnwell { throw ExitCode.failure }
    }

    /// The status a second later, with the rate of that second. On a terminal only, and only while bytes are moving.
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

    private static func complaint(_ answer: Mounted.Answer, _ mounted: Mounted) -> String? {
        switch answer {
        case .status: nil
        case .disconnected:
            "the process of \(mounted.mountpoint) has died: run chatfs unmount \(mounted.mountpoint)"
        case .silent: "\(mounted.mountpoint) does not answer"
        case .foreign: "\(mounted.mountpoint) belongs to another user"
        case .unasked(let error): "\(mounted.mountpoint) cannot be asked: \(error.sentence)"
        }
    }

    /// The mount's own status, or an object with its mountpoint and what is wrong with it.
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
