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
            why. With --json it prints the mount's own .chatfs/status.json, one mount after the other.
            """,
        section: ChatFS.Section.daily,
        arguments: [
            Argument("MOUNTPOINT", .folder, count: .optional, "Only this mount.")
        ],
        options: [.flag("json", "For programs.")],
        examples: [Example("chatfs status --json ~/Chats | jq .transfers", "For a script.")]
    ) { invocation in
        let path = invocation.optionalArgument("MOUNTPOINT")
        let mounts = try path.map { [try UnmountCommand.chosen($0)] } ?? Mounted.all()
        if mounts.isEmpty, !invocation.has("json") { Terminal.print("Nothing is mounted.") }
        var isUnwell = false
        for mounted in mounts {
            let answer = await mounted.answer()
            switch answer {
            case .status(let bytes) where invocation.has("json"):
                Terminal.write(String(decoding: bytes, as: UTF8.self), to: STDOUT_FILENO)
            case .status(let bytes):
                for line in lines(bytes, of: mounted) { Terminal.print(line) }
            case .dead:
                isUnwell = true
                Terminal.complain(
                    "chatfs: the process of \(mounted.mountpoint) has died: run chatfs unmount \(mounted.mountpoint)"
                )
            case .silent:
                isUnwell = true
                Terminal.complain("chatfs: \(mounted.mountpoint) does not answer")
            case .foreign:
                // Somebody else's: of no interest unless asked for.
                guard path != nil else { continue }
                isUnwell = true
                Terminal.complain("chatfs: \(mounted.mountpoint) belongs to another user")
            }
        }
        if isUnwell { throw ExitCode.failure }
    }

    private static func lines(_ bytes: [UInt8], of mounted: Mounted) -> [String] {
        guard let status = MountStatus.decoded(bytes) else {
            return ["\(mounted.mountpoint): of another version of ChatFS"]
        }
        let head =
            "\(status.profile) at \(mounted.mountpoint) (process \(status.pid)): \(status.chats) chats, "
            + "\(status.entries) files, \(ByteCount.rounded(status.cachedBytes)) decrypted in the cache"
        let kernel = status.kernel.map { "  \(reads($0.passthrough))" }
        let core = status.coreProblem.map { "  what is sent and received waits: \($0)" }
        return [head] + [core, kernel].compactMap { $0 } + status.transfers.map(line)
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
