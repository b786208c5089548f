import Base
import CommandLineKit
import Desktop
import EmbeddedCore
import FileSystem
import Posix
import Unlocking

/// `chatfs` without a command: mounts, transfers and pending actions, or first steps.
enum OverviewCommand {
    static let command = Command(
        "overview", "Show mounts, transfers and pending actions. 'chatfs' alone is the same.",
        discussion: "Asks for no passphrase, and waits at most five seconds for a silent mount.",
        section: CommandSection.daily, options: [CommonOptions.data],
        examples: [Example("chatfs", "Show mounts and next steps.")]
    ) { invocation in
        let path = invocation.dataPath
        var mounts: [Overview.Mount] = []
        let all = try await ThreadPool.shared.run { () throws(DesktopError) in try Mounted.all() }
        for (mounted, answer) in await Mounted.answers(of: all) {
            switch answer {
            case .foreign: continue
            case .status(let bytes):
                let status = MountStatus.decoded(bytes)
                mounts.append(Overview.Mount(mountpoint: mounted.mountpoint, status: status, isDead: false))
            case .disconnected:
                mounts.append(Overview.Mount(mountpoint: mounted.mountpoint, status: nil, isDead: true))
            case .silent, .unasked:
                mounts.append(Overview.Mount(mountpoint: mounted.mountpoint, status: nil, isDead: false))
            }
        }
        let data = await ThreadPool.shared.run { condition(of: path) }
        for line in Overview(mounts: mounts, data: data).lines {
            Terminal.print(PrintableText.escaping(line))
        }
    }

    private static func condition(of path: String) -> Overview.Data {
        switch try? KeyedFolder(path: path, database: DataDirectory.databaseFile).condition {
        case .new: return .none
        case .plain: return .open
        case .encrypted: return KeyClient.holders(of: path).isEmpty ? .locked : .open
        case nil: return .unreadable(path)
        }
    }
}
