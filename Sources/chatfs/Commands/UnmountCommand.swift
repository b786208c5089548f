import Base
import CommandLineKit
import Desktop
import FileSystem
import Fuse
import Glibc
import Posix

/// `chatfs unmount`: unmounts and waits for the daemon's end.
enum UnmountCommand {
    private static let wait = Option(
        "wait", named: "TIME", .duration, default: .seconds(10),
        "How long to wait for programs that use the mount.")

    static let command = Command(
        "unmount", "Unmount, and delete all decrypted data.",
        discussion: """
            Waits for programs that still use the mount, and names them. Then it queues files that were copied in \
            without waiting for their quiet time, and deletes the decrypted cache. The command ends after the mount's \
            process.

            The mount of a dead process is removed at once. 'fusermount3 -u MOUNTPOINT' works as well.
            """,
        section: CommandSection.daily, arguments: [CommonOptions.mountpoint],
        options: [CommonOptions.mount, wait],
        examples: [Example("chatfs unmount ~/Chats", "Unmount this folder.")]
    ) { invocation in
        let mounted = try await Mounted.chosen(by: invocation)
        // A current directory on the mount would keep it busy.
        _ = chdir("/")
        let status: MountStatus?
        switch await mounted.answer() {
        case .disconnected: return try await mounted.detach()
        case .foreign:
            throw DesktopError(.system, "The mount at \(mounted.mountpoint) belongs to another user.")
        case .unasked(let error): throw error
        case .silent: status = nil
        case .status(let bytes): status = MountStatus.decoded(bytes)
        }
        // An ended daemon needs no wait.
        let daemon = status.flatMap { try? OtherProcess($0.pid) }
        try await leave(mounted, within: invocation[wait])
        guard let status, let daemon, await waitForEnd(of: daemon, behind: mounted.mount) else { return }
        if let words = try await WaitingFiles.words(ofProfileIn: status.controlFolder) {
            Terminal.note("chatfs: " + words)
        }
    }

    /// Waits at most a minute; a long queue continues in the background.
    private static func waitForEnd(of daemon: OtherProcess, behind mount: MountTable.Mount) async -> Bool {
        let hasEnded = await ThreadPool.shared.run {
            // The unmounted one may have been a copy of the mount in the daemon's own mount namespace.
            let others = try? MountTable.mounts(seenBy: daemon.process)
            if others?.contains(where: { $0.device == mount.device }) == true { daemon.send(SIGTERM) }
            return daemon.hasEnded(within: .seconds(60))
        }
        if !hasEnded { Terminal.complain("chatfs: unmounted; the process of the mount is still running") }
        return hasEnded
    }

    private static func leave(_ mounted: Mounted, within timeout: Duration) async throws {
        let end = ContinuousClock.now + timeout
        var named = false
        while true {
            switch await mounted.mount.unmountIfIdle() {
            case .gone: return
            case .busy: break
            case .covered:
                throw DesktopError(
                    .busy,
                    "Another mount covers the mount at \(mounted.mountpoint): unmount that first."
                )
            }
            let holders = await ThreadPool.shared.run { MountHolder.all(of: mounted.mountpoint) }
            let users = holders.isEmpty ? "a program" : holders.map(\.text).joined(separator: ", ")
            guard ContinuousClock.now < end else {
                throw DesktopError(.busy, "The mount is in use by \(users): close that and try again.")
            }
            if !named, !holders.isEmpty { Terminal.note("chatfs: waiting for \(users)") }
            named = named || !holders.isEmpty
            try await Task.sleep(for: .milliseconds(200))
        }
    }
}
