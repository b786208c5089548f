import Glibc
import Posix

/// The folder into which a verification lays the databases of an archive, for as long as the process that made it runs.
/// Another verification removes what a killed one left. All calls block.
struct ScratchFolder {
    let folder: PrivateFolder
    private let lock: FolderLock

    /// In front of a mark that no other verification has.
    static let prefix = "chatfs-verify-"
    private static let purpose = "chatfs verify"
    /// A folder without a lock is so young that its process may be about to take one.
    private static let graceSeconds = 60

    /// - Parameter path: absolute; must not be there.
    /// - Throws: as `PrivateFolder.init`; EBUSY where somebody else locks the new folder.
    init(_ path: String) throws(SystemError) {
        Self.removeLeft(in: path.parentPath)
        folder = try PrivateFolder(path, purpose: Self.purpose)
        guard let lock = try FolderLock(folder) else {
            throw SystemError(code: EBUSY, operation: "lock a folder")
        }
        self.lock = lock
    }

    func remove() { try? folder.remove(lock: "lock") }

    /// Removes folders of this user whose processes have ended. A folder that cannot be removed stays.
    private static func removeLeft(in parent: String) {
        for name in (try? PrivateFolder.names(at: parent)) ?? [] where name.hasPrefix(prefix) {
            guard let left = try? PrivateFolder("\(parent)/\(name)", purpose: purpose),
                let status = try? left.directory.status()
            else { continue }
            let isLocked = faccessat(left.directory.descriptor, "lock", F_OK, 0) == 0
            guard isLocked || status.st_mtim.tv_sec < time(nil) - graceSeconds,
                let lock = try? FolderLock(left)
            else { continue }
            try? left.remove(lock: "lock")
            lock.release()
        }
    }
}
