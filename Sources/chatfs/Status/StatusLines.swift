import Base
import Desktop
import FileSystem
import Fuse
import Keeping

/// The status of a mount as text.
enum StatusLines {
    /// What a mount is and does, then its transfers; the first line names it.
    /// - Parameters:
    ///   - bytes: its `status.json`.
    ///   - rate: of its transfers, bytes per second; nil if unknown.
    static func lines(_ bytes: [UInt8], of mounted: Mounted, rate: UInt64? = nil) -> [String] {
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
        let totals = "  " + StatusTotals(status).line(rate: rate)
        return [head, totals]
            + [
                LastErrorLine.text(status.lastError, now: SystemWallClock().now()).map { "  " + $0 },
                core, fullDisk(status.fullDisk), suspended, connections(status), room(status.room), kernel,
                callers,
            ].compactMap { $0 }
            + WaitingWords.lines(status.waiting) + silent
            + keeping(status.keeping)
            + verification(status.verified) + status.transfers.map(line)
    }

    /// nil if an official core has the connections, or the user has suspended them.
    private static func connections(_ status: MountStatus) -> String? {
        guard let connected = status.connections, status.suspended == nil else { return nil }
        let lost = status.waiting?.servers.count ?? 0
        return "  \(count(connected, "messaging server")) connected" + (lost == 0 ? "" : ", \(lost) away")
    }

    private static func room(_ room: MountStatus.Room?) -> String? {
        guard let room else { return nil }
        let limit = room.cacheLimit.map { " (at most \(ByteCount.rounded($0)) of it)" } ?? ""
        let cache = room.cache.map { ", \(ByteCount.rounded($0)) for the cache\(limit)" } ?? ""
        return "  room: \(ByteCount.rounded(room.data)) for files\(cache)"
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
                let words = KeepObstacle(rawValue: name)?.words ?? name
                return keeping.obstacles.count == 1 && number == keeping.waiting
                    ? words : "\(words): \(number)"
            }
            let why = reasons.isEmpty ? "" : " (\(reasons.joined(separator: ", ")))"
            lines.append("  waiting to be kept: \(count(keeping.waiting, "file"))\(why)")
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
        let reason = (transfer.error ?? transfer.waitsFor).map { " — \($0)" } ?? ""
        return "  \(state)  \(ByteCount.rounded(transfer.size))  \(transfer.path)\(reason)"
    }
}
