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
            why. With --json it prints the mount's own .chatfs/status.json; without MOUNTPOINT an array of them, \
            in which a mount that does not answer has only its mountpoint and a problem.
            """,
        section: ChatFS.Section.daily,
        arguments: [
            Argument("MOUNTPOINT", .listed("mountpoints"), count: .optional, "Only this mount.")
        ],
        options: [.flag("json", "For programs.")],
        examples: [Example("chatfs status --json ~/Chats | jq .transfers", "For a script.")]
    ) { invocation in
        let path = invocation.optionalArgument("MOUNTPOINT")
        let mounts = try path.map { [try UnmountCommand.chosen($0)] } ?? Mounted.all()
        let isForPrograms = invocation.has("json")
        if mounts.isEmpty, !isForPrograms { Terminal.print("Nothing is mounted.") }
        var objects: [String] = []
        var isUnwell = false
        for mounted in mounts {
            let answer = await mounted.answer()
            // Somebody else's: of no interest unless asked for.
            if answer == .foreign, path == nil { continue }
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
        }
        if isUnwell { throw ExitCode.failure }
    }

    private static func complaint(_ answer: Mounted.Answer, _ mounted: Mounted) -> String? {
        switch answer {
        case .status: nil
        case .dead: "the process of \(mounted.mountpoint) has died: run chatfs unmount \(mounted.mountpoint)"
        case .silent: "\(mounted.mountpoint) does not answer"
        case .foreign: "\(mounted.mountpoint) belongs to another user"
        }
    }

    /// The mount's own status, or an object with its mountpoint and what is wrong with it.
    private static func json(_ answer: Mounted.Answer, of mounted: Mounted) -> String {
        let problem: String
        switch answer {
        case .status(let bytes):
            let text = String(decoding: bytes, as: UTF8.self)
            return text.hasSuffix("\n") ? String(text.dropLast()) : text
        case .dead: problem = "dead"
        case .silent: problem = "silent"
        case .foreign: problem = "foreign"
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
        let kernel = status.kernel.map { "  \(reads($0.passthrough))" }
        let core = status.coreProblem.map { "  what is sent and received waits: \($0)" }
        let refused = (status.callers ?? [:]).filter { $0.value.refused > 0 }.sorted { $0.key < $1.key }
            .map { "\(CallerKind(rawValue: $0.key)?.noun ?? $0.key) (\($0.value.refused))" }
        let callers = refused.isEmpty ? nil : "  nothing was fetched for: \(refused.joined(separator: ", "))"
        return [head] + [core, kernel, callers].compactMap { $0 } + status.transfers.map(line)
    }

    private static func count(_ number: Int, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }

    private static func reads(_ passthrough: KernelSide.Passthrough) -> String {
        passthrough.isOn
            ? "finished files are read by the kernel itself"
            : "finished files are read through ChatFS: \(passthrough.reason ?? "no reason is known")"
    }

    private static func line(_ transfer: MountStatus.Transfer) -> String {
        let isMoving = ["sending", "receiving"].contains(transfer.state)
        let state = isMoving ? "\(transfer.state) \(transfer.progress)%" : transfer.state
        let reason = transfer.error.map { " — \($0)" } ?? ""
        return "  \(state)  \(ByteCount.rounded(transfer.size))  \(transfer.path)\(reason)"
    }
}
