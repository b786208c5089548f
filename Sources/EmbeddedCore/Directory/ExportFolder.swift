import Glibc
import Posix

/// The folder of a data directory in which an export puts its snapshot. All calls block.
public enum ExportFolder {
    public static let name = "export"
    public static let purpose = "chatfs export"
    /// Locked by the export.
    public static let lockFile = ".lock"
    /// The export of a younger folder may be about to lock it.
    private static let graceSeconds = 60

    /// Removes the folder of a killed export from a data directory. A folder that cannot be removed stays.
    static func sweep(_ path: String) {
        var status = stat()
        let place = "\(path)/\(name)"
        guard lstat(place, &status) == 0, status.st_mtim.tv_sec < time(nil) - graceSeconds,
            let left = try? PrivateFolder(place, purpose: purpose),
            let lock = try? OpenFile(lockFile, flags: O_RDWR | O_CREAT | O_NOFOLLOW, in: left.directory),
            (try? lock.tryLock()) == true
        else { return }
        withExtendedLifetime(lock) { try? left.remove(lock: lockFile) }
    }
}
