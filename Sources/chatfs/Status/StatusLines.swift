import Base
import Desktop
import FileSystem
import Fuse
import Keeping

/// The status of a mount as text.
enum StatusLines {
    /// Returns the state of a mount, then its transfers; the first line names the mount.
    /// - Parameters:
    ///   - bytes: Content of its `status.json`.
    ///   - rate: Rate of its transfers in bytes per second; nil if unknown.
    static func lines(_ bytes: [UInt8], of mounted: Mounted, rate: UInt64? = nil) -> [String] {
        guard let status = MountStatus.decoded(bytes) else {
            return ["\(mounted.mountpoint): runs another version of ChatFS"]
        }
        let head =
            "\(status.profile) at \(mounted.mountpoint) (process \(status.pid)): \(counted(status.chats, "chat")), "
            + "\(counted(status.entries, "file")), \(ByteCount.rounded(status.cachedBytes)) in the cache"
        let kernel = status.kernel.flatMap { reads($0.passthrough) }.map { "  " + $0 }
        let core = status.coreProblem.map { "  transfers wait: \($0)" }
        let suspended = status.suspended.map {
            $0 == "sleep"
                ? "  transfers are suspended: the machine is about to sleep"
                : "  transfers are suspended until chatfs resume \(status.mountpoint)"
        }
        let refused = (status.callers ?? [:]).filter { $0.value.refused > 0 }.sorted { $0.key < $1.key }
            .map { "\(CallerKind(rawValue: $0.key)?.noun ?? $0.key) (\($0.value.refused))" }
        let callers = refused.isEmpty ? nil : "  downloads refused to: \(refused.joined(separator: ", "))"
        let silent = ((status.changedKeys ?? []) + (status.silentChats ?? [])).map {
            "  \($0.chat): \($0.problem)"
        }
        let totals = "  " + StatusTotals(status).line(rate: rate)
        let lastError = LastErrorLine.text(status.lastError, now: SystemWallClock().now()).map { "  " + $0 }
        let facts: [String?] = [
            head, totals, lastError, core, fullDisk(status.fullDisk), suspended, connections(status),
            room(status.room), kernel, callers,
        ]
        let waiting = WaitingWords.lines(status.waiting) + silent + keeping(status.keeping)
        return facts.compactMap { $0 } + waiting + verification(status.verified) + status.transfers.map(line)
    }

    /// Returns nil for a mount that answers.
    static func complaint(_ answer: Mounted.Answer, _ mounted: Mounted) -> String? {
        switch answer {
        case .status: nil
        case .disconnected:
            "the process of \(mounted.mountpoint) has died: run chatfs unmount \(mounted.mountpoint)"
        case .silent: "\(mounted.mountpoint) does not answer"
        case .foreign: "\(mounted.mountpoint) belongs to another user"
        case .unasked(let error): "\(mounted.mountpoint) cannot be asked: \(error.sentence)"
        }
    }

    /// Returns nil if an official core has the connections, or the user has suspended them.
    private static func connections(_ status: MountStatus) -> String? {
        guard let connected = status.connections, status.suspended == nil else { return nil }
        let lost = status.waiting?.servers.count ?? 0
        return "  \(counted(connected, "messaging server")) connected"
            + (lost == 0 ? "" : ", \(lost) unreachable")
    }

    private static func room(_ room: MountStatus.Room?) -> String? {
        guard let room else { return nil }
        let limit = room.cacheLimit.map { " (at most \(ByteCount.rounded($0)) of it)" } ?? ""
        let cache = room.cache.map { ", \(ByteCount.rounded($0)) for the cache\(limit)" } ?? ""
        return "  free: \(ByteCount.rounded(room.data)) for files\(cache)"
    }

    private static func fullDisk(_ disk: MountStatus.FullDisk?) -> String? {
        disk.map {
            "the disk of \($0.folder) is full (\(ByteCount.rounded($0.free)) free): receiving, writing "
                + "and sending fail until you free some space"
        }.map { "  " + $0 }
    }

    private static func verification(_ verified: MountStatus.Verification?) -> [String] {
        guard let verified else { return [] }
        let days = max(0, SystemWallClock().now().seconds - verified.time) / 86_400
        let time = days == 0 ? "today" : "\(counted(Int(days), "day")) ago"
        let outcome =
            verified.problems == 0
            ? "no problems"
            : "\(counted(verified.problems, "problem")), listed by 'chatfs verify'"
        return ["  verified \(time), \(counted(verified.files, "file")): \(outcome)"]
    }

    private static func keeping(_ keeping: MountStatus.Keeping?) -> [String] {
        guard let keeping else { return [] }
        var lines: [String] = []
        if keeping.waiting > 0 {
            let reasons = keeping.obstacles.sorted { $0.key < $1.key }.map { name, number in
                let words = KeepObstacle(rawValue: name)?.words ?? name
                return keeping.obstacles.count == 1 && number == keeping.waiting
                    ? words : "\(words): \(number)"
            }
            let why = reasons.isEmpty ? "" : " (\(reasons.joined(separator: ", ")))"
            lines.append("  waiting to be kept: \(counted(keeping.waiting, "file"))\(why)")
        }
        if keeping.expiring > 0 {
            lines.append(
                "  \(counted(keeping.expiring, "file")) will expire on the relays within 12 hours: open, hydrate or "
                    + "pin the files you want, or see 'chatfs help keep'")
        }
        return lines
    }

    /// Returns nil without a plain cache, which passthrough needs.
    private static func reads(_ passthrough: KernelSide.Passthrough) -> String? {
        if passthrough.isOn { return "complete files are read directly by the kernel" }
        if passthrough.reason == KernelSide.Passthrough.notPlain { return nil }
        return "complete files are read through ChatFS: \(passthrough.reason ?? "unknown reason")"
    }

    private static func line(_ transfer: MountStatus.Transfer) -> String {
        let isMoving = ["sending", "receiving"].contains(transfer.state)
        let state = isMoving ? "\(transfer.state) \(transfer.progress)%" : transfer.state
        let reason = (transfer.error ?? transfer.waitsFor).map { " — \($0)" } ?? ""
        return "  \(state)  \(ByteCount.rounded(transfer.size))  \(transfer.path)\(reason)"
    }
}
