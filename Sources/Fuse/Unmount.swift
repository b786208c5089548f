import CLinux
import Glibc
import Posix

/// Takes a mount away when nothing on it is open, as the user who made it may: umount2(2) for root,
/// fusermount3 for others. Its opposite, whoever uses it: `MountTable.detach`.
public enum Unmount {
    /// False when files are open, or when it is not ours.
    public static func run(_ mountpoint: String) async -> Bool {
        let code = await ThreadPool.shared.run { chatfs_unmount(mountpoint, 0) == 0 ? 0 : errno }
        guard code == EPERM else { return code == 0 }
        var settings = ChildProcess.Settings("/usr/bin/fusermount3", ["-u", "-q", mountpoint])
        settings.output = .null
        settings.errors = .null
        settings.ownGroup = true
        guard let child = try? await ChildProcess.start(settings) else { return false }
        return await child.ending(within: .seconds(10)) == .code(0)
    }
}
