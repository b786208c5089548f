import Base
import Desktop
import Glibc
import Posix

/// Examines mounts whose processes have died or hang, and processes that keep an unmounted mount busy.
enum MountExamination {
    static func findings() async -> [Finding] {
        // Other findings report an unreadable mount table.
        let mounts = await ThreadPool.shared.run { (try? Mounted.all()) ?? [] }
        var findings: [Finding] = []
        for (mounted, answer) in await Mounted.answers(of: mounts) {
            if let finding = finding(answer, of: mounted) { findings.append(finding) }
        }
        let own = Set(mounts.map(\.mount.device))
        return findings + (await ThreadPool.shared.run { holders(own: own) })
    }

    private static func finding(_ answer: Mounted.Answer, of mounted: Mounted) -> Finding? {
        let place = mounted.mountpoint
        switch answer {
        case .status, .foreign, .unasked: return nil
        case .disconnected:
            return Finding.bad(
                "the process of the mount at \(place) has died: 'chatfs unmount \(place)' removes the mount",
                naming: [place]
            ).fixed("the dead mount at \(place) was removed") { try await mounted.detach() }
        case .silent:
            return .failed(
                "the mount at \(place) does not answer: 'chatfs service logs' or the journal may show the reason; 'fusermount3 -uz "
                    + "\(place)' removes it and keeps unsent files", naming: [place])
        }
    }

    // MARK: - Other namespaces

    /// Returns a finding for each mount that only another process's mount namespace contains. Such a copy
    /// keeps the mount's files busy and its process alive.
    ///
    /// - Parameter own: Device numbers of the mounts that this process sees.
    static func holders(own: Set<String>) -> [Finding] {
        guard let here = namespace(of: "self") else { return [] }
        var seen: Set<String> = []
        var findings: [Finding] = []
        for process in ProcessInformation.processes().sorted() {
            guard let namespace = namespace(of: String(process)), namespace != here,
                seen.insert(namespace).inserted, let mounts = try? MountTable.mounts(seenBy: process)
            else { continue }
            let kept = mounts.filter {
                $0.type == "fuse.chatfs" && $0.user == geteuid() && !own.contains($0.device)
            }
            findings += kept.map { finding(of: $0, heldBy: process) }
        }
        return findings
    }

    static func finding(of mount: MountTable.Mount, heldBy process: pid_t) -> Finding {
        let name = ProcessInformation.name(of: process) ?? "a process"
        return .note(
            "\(name) (process \(process)) keeps the mount \(mount.path) in its own mount namespace; the mount "
                + "ends with that process", naming: [mount.path])
    }

    /// Returns nil if access is denied.
    private static func namespace(of process: String) -> String? {
        SymbolicLink.target(of: "/proc/\(process)/ns/mnt")
    }
}
