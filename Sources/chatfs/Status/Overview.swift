import Base
import FileSystem

/// The output of `chatfs` without a command. A pure value.
struct Overview {
    struct Mount {
        var mountpoint: String
        /// nil if the mount does not answer or runs another version.
        var status: MountStatus?
        /// True if the mount's process has ended.
        var isDead: Bool
    }

    enum Data: Hashable {
        /// There is no data directory yet.
        case none
        /// Commands need the passphrase or the keyring.
        case locked
        case open
        case unreadable(String)
    }

    var mounts: [Mount]
    var data: Data

    var lines: [String] {
        if mounts.isEmpty { return beginning }
        let todo = mounts.flatMap(todo)
        return mounts.flatMap(summary)
            + (todo.isEmpty ? [] : ["", "Needs your action:"] + todo.map { "  " + $0 })
    }

    // MARK: - Without a mount

    private var beginning: [String] {
        switch data {
        case .none:
            [
                "ChatFS is not set up yet.",
                "  chatfs demo                      try ChatFS: two people on this machine",
                "  chatfs pair --profile YOUR-NAME  connect with a user of SimpleX Chat",
                "  chatfs help                      all commands",
            ]
        case .locked, .open:
            [
                "Nothing is mounted.",
                "  chatfs mount ~/Chats  show your chats as folders",
            ] + (data == .locked ? ["  chatfs unlock         enter the passphrase once"] : []) + [
                "  chatfs help           all commands"
            ]
        case .unreadable(let path):
            ["The data directory \(path) cannot be read: 'chatfs doctor' shows the reason."]
        }
    }

    // MARK: - Mounts

    /// Maximum number of listed transfers for a mount.
    private static let most = 5

    private func summary(_ mount: Mount) -> [String] {
        guard let status = mount.status else {
            return [
                mount.isDead ? "\(mount.mountpoint): its process has died" : "\(mount.mountpoint): no answer"
            ]
        }
        let moving = status.transfers.filter(StatusTotals.isMoving)
        let head = StatusTotals(status).line(rate: nil)
        let lines = moving.prefix(Self.most).map { transfer in
            "  \(transfer.state) \(transfer.progress) %  \(transfer.path)"
                + ((transfer.error ?? transfer.waitsFor).map { ": \($0)" } ?? "")
        }
        let more = moving.count - lines.count
        return ["\(status.profile) at \(mount.mountpoint): \(head)"] + lines
            + (more > 0 ? ["  and \(more) more: 'chatfs status'"] : [])
    }

    private func todo(_ mount: Mount) -> [String] {
        let place = mount.mountpoint
        guard let status = mount.status else {
            return mount.isDead ? ["chatfs unmount \(place) removes the dead mount"] : []
        }
        var lines: [String] = []
        if let disk = status.fullDisk {
            lines.append("the disk of \(disk.folder) is full: free some space ('chatfs storage show')")
        }
        if let problem = status.coreProblem { lines.append("not connected: \(problem)") }
        if status.suspended == "user" { lines.append("suspended: 'chatfs resume \(place)' continues") }
        if let waiting = status.waiting {
            if waiting.requests > 0 {
                lines.append("\(counted(waiting.requests, "request")) to answer: 'chatfs requests'")
            }
            if waiting.invitations > 0 {
                lines.append("\(counted(waiting.invitations, "unused invitation"))")
            }
            for server in waiting.servers { lines.append("\(server.server): \(server.problem)") }
        }
        for chat in status.changedKeys ?? [] { lines.append("\(chat.chat): \(chat.problem)") }
        let held = status.transfers.filter { !StatusTotals.isMoving($0) }
        for transfer in held.prefix(Self.most) {
            lines.append("\(place)/\(transfer.path): \(transfer.error ?? transfer.state)")
        }
        if held.count > Self.most {
            lines.append("and \(held.count - Self.most) more stopped files: 'chatfs status'")
        }
        return lines
    }
}
