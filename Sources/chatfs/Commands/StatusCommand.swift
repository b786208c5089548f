import Base
import CommandLineKit
import Desktop
import FileSystem
import Fuse
import Glibc
import Keeping
import Posix

/// `chatfs status`: what is mounted, and what is on its way.
enum StatusCommand {
    static let command = Command(
        "status", "Show what is mounted and what is on its way.",
        discussion: """
            Lists each mount with the files that are being sent or received, wait, or could not go, and \
            why. With --json it prints the mount's own .chatfs/status.json; without MOUNTPOINT an array of them, \
            in which a mount that does not answer has only its mountpoint and a problem.

            With --watch it prints one mount's status again whenever something changes there, at most once a second, \
            until Ctrl-C, until the mount ends, or until nobody reads it any more; with --json each on one line.
            """,
        section: CommandSection.daily,
        arguments: [
            Argument("MOUNTPOINT", .listed("mountpoints"), count: .optional, "Only this mount.")
        ],
        options: [
            .flag("json", "For programs."),
            .flag("watch", "Go on, and print it again whenever something changes; of one mount."),
        ],
        examples: [
            Example("chatfs status --json ~/Chats | jq .transfers", "For a script."),
            Example("chatfs status --watch ~/Chats", "What is on its way, as it moves."),
        ],
        waitsForStop: true
    ) { invocation in
        let path = invocation.optionalArgument("MOUNTPOINT")
        let isForPrograms = invocation.has("json")
        if invocation.has("watch") {
            let mounted = try await ThreadPool.shared.run { try Mounted.chosen(path) }
            return try await watch(mounted, isForPrograms: isForPrograms, until: invocation.stop)
        }
        guard try await invocation.stop.interrupting({ try await show(path, isForPrograms) }) != nil else {
            throw ExitCode(128 + (await invocation.stop.wait()))
        }
    }

    @Sendable private static func show(_ path: String?, _ isForPrograms: Bool) async throws {
        let mounts = try path.map { [try Mounted.chosen($0)] } ?? Mounted.all()
        var objects: [String] = []
        var isUnwell = false
        var isAnyShown = false
        for mounted in mounts {
            let answer = await mounted.answer()
            // Somebody else's: of no interest unless asked for.
            if answer == .foreign, path == nil { continue }
            isAnyShown = true
            if let complaint = complaint(answer, mounted) {
                isUnwell = true
                Terminal.complain("chatfs: \(complaint)")
            }
            if isForPrograms {
                objects.append(json(answer, of: mounted))
            } else if case .status(let bytes) = answer {
                for line in lines(bytes, of: mounted) { Terminal.print(PrintableText.escaping(line)) }
            }
        }
        if isForPrograms {
            // One that was named is an object, all there are an array.
            Terminal.print(path == nil ? "[" + objects.joined(separator: ",\n") + "]" : objects.joined())
        } else if !isAnyShown {
            Terminal.print("Nothing is mounted.")
        }
        if isUnwell { throw ExitCode.failure }
    }

    // MARK: - Again and again

    /// Changes that come within this time are shown together.
    private static let pause = Duration.seconds(1)

    private static func watch(
        _ mounted: Mounted, isForPrograms: Bool, until stop: StopRequest
    ) async throws {
        let client = try await ProgramAsking.client(of: mounted)
        try await ThreadPool.shared.run { try client.subscribe() }
        let redraws = !isForPrograms && Terminal.canRedraw(STDOUT_FILENO)
        while true {
            guard case .status(let bytes) = await mounted.answer() else { return hasEnded(mounted) }
            if isForPrograms {
                try Terminal.show(try MountStatus.decoded(bytes).map(JSONLine.encoded) ?? "{}")
            } else {
                // Home, and what was there is wiped: the whole screen would flicker.
                if redraws { Terminal.write("\u{1B}[H\u{1B}[J", to: STDOUT_FILENO) }
                for line in lines(bytes, of: mounted) { try Terminal.show(PrintableText.escaping(line)) }
                if !redraws { try Terminal.show("") }
            }
            do {
                let event = try await ThreadPool.shared.run {
                    try client.nextEvent { stop.isRequested || Terminal.hasLostItsReader }
                }
                if event == nil {
                    if !stop.isRequested { return }
                    throw ExitCode(128 + (await stop.wait()))
                }
                // With a stop in between, the next event is not waited for.
                _ = try await stop.interrupting { try await Task.sleep(for: pause) }
                try await ThreadPool.shared.run { try client.dropEvents() }
            } catch let error as DesktopError where error.code == .noAnswer {
                return hasEnded(mounted)
            }
        }
    }

    private static func hasEnded(_ mounted: Mounted) {
        Terminal.note("chatfs: the mount at \(mounted.mountpoint) has ended")
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

    private static func lines(_ bytes: [UInt8], of mounted: Mounted) -> [String] {
        guard let status = MountStatus.decoded(bytes) else {
            return ["\(mounted.mountpoint): of another version of ChatFS"]
        }
        let head =
            "\(status.profile) at \(mounted.mountpoint) (process \(status.pid)): \(count(status.chats, "chat")), "
            + "\(count(status.entries, "file")), \(ByteCount.rounded(status.cachedBytes)) decrypted in the cache"
        let kernel = status.kernel.flatMap { reads($0.passthrough) }.map { "  " + $0 }
        let core = status.coreProblem.map { "  what is sent and received waits: \($0)" }
        let suspended = status.suspended.map {
            $0 == "sleep"
                ? "  nothing is transferred: the machine is about to sleep"
                : "  nothing is transferred until chatfs resume \(status.mountpoint)"
        }
        let refused = (status.callers ?? [:]).filter { $0.value.refused > 0 }.sorted { $0.key < $1.key }
            .map { "\(CallerKind(rawValue: $0.key)?.noun ?? $0.key) (\($0.value.refused))" }
        let callers = refused.isEmpty ? nil : "  nothing was fetched for: \(refused.joined(separator: ", "))"
        let silent = ((status.changedKeys ?? []) + (status.silentChats ?? [])).map {
            "  \($0.chat): \($0.problem)"
        }
        return [head] + [core, fullDisk(status.fullDisk), suspended, kernel, callers].compactMap { $0 }
            + WaitingWords.lines(status.waiting) + silent
            + keeping(status.keeping)
            + verification(status.verified) + status.transfers.map(line)
    }

    private static func fullDisk(_ disk: MountStatus.FullDisk?) -> String? {
        disk.map {
            "the disk of \($0.folder) is full (\(ByteCount.rounded($0.free)) free): nothing can be received, written "
                + "or sent until there is room"
        }.map { "  " + $0 }
    }

    private static func verification(_ verified: MountStatus.Verification?) -> [String] {
        guard let verified else { return [] }
        let days = max(0, SystemWallClock().now().seconds - verified.time) / 86_400
        let time = days == 0 ? "today" : "\(count(Int(days), "day")) ago"
        let what =
            verified.problems == 0
            ? "nothing was wrong"
            : "\(count(verified.problems, "thing")) found wrong, which 'chatfs verify' names"
        return ["  verified \(time), \(count(verified.files, "file")): \(what)"]
    }

    private static func keeping(_ keeping: MountStatus.Keeping?) -> [String] {
        guard let keeping else { return [] }
        var lines: [String] = []
        if keeping.waiting > 0 {
            let reasons = keeping.obstacles.sorted { $0.key < $1.key }.map { name, number in
                "\(KeepObstacle(rawValue: name)?.words ?? name) (\(number))"
            }
            let why = reasons.isEmpty ? "" : "; waiting for: \(reasons.joined(separator: ", "))"
            lines.append("  to be kept and not here yet: \(count(keeping.waiting, "file"))\(why)")
        }
        if keeping.expiring > 0 {
            lines.append(
                "  \(count(keeping.expiring, "file")) will be gone from the relays within 12 hours: open, hydrate or "
                    + "pin what you want, or see 'chatfs help keep'")
        }
        return lines
    }

    private static func count(_ number: Int, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }

    /// nil where nobody asked for it: only a plain cache can be read by the kernel.
    private static func reads(_ passthrough: KernelSide.Passthrough) -> String? {
        if passthrough.isOn { return "finished files are read by the kernel itself" }
        if passthrough.reason == KernelSide.Passthrough.notPlain { return nil }
        return "finished files are read through ChatFS: \(passthrough.reason ?? "no reason is known")"
    }

    private static func line(_ transfer: MountStatus.Transfer) -> String {
        let isMoving = ["sending", "receiving"].contains(transfer.state)
        let state = isMoving ? "\(transfer.state) \(transfer.progress)%" : transfer.state
        let reason = transfer.error.map { " — \($0)" } ?? ""
        return "  \(state)  \(ByteCount.rounded(transfer.size))  \(transfer.path)\(reason)"
    }
}
