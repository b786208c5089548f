import CLinux
import Glibc
import Posix

/// Takes mounts away, as the user who made them may: umount2(2) for root, fusermount3 for others.
public enum Unmount {
    /// False when it could not be done: files are open (not lazily), or it is not ours.
    public static func run(_ mountpoint: String, lazily: Bool) async -> Bool {
        let code = await ThreadPool.shared.run { chatfs_unmount(mountpoint, lazily ? 1 : 0) == 0 ? 0 : errno }
        guard code == EPERM else { return code == 0 }
        var settings = ChildProcess.Settings(
            helper, ["-u", "-q"] + (lazily ? ["-z"] : []) + ["--", mountpoint])
        settings.errors = .null
        settings.ownGroup = true
        guard let child = try? await ChildProcess.start(settings) else { return false }
        return await child.ending(within: .seconds(10)) == .code(0)
    }

    private static let helper =
        access("/bin/fusermount3", X_OK) == 0 ? "/bin/fusermount3" : "/usr/bin/fusermount3"
}
