import Base
import Glibc
import Posix

/// The directory `set-aside` of a profile, for stray files. They keep their names, never replace another file, and are
/// never deleted. All calls block.
struct SetAside {
    private let folder: OpenFile

    /// Opens or creates the directory.
    init(profileFolder: String) throws(SystemError) {
        let own = try OpenFile(profileFolder, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        folder = try PrivateFolder.folder("set-aside", in: own)
    }

    /// Moves a file or directory of the same filesystem, durably.
    /// - Returns: Its new name.
    @discardableResult
    func move(_ path: String) throws(SystemError) -> String {
        let own = path.lastPathName ?? "file"
        var name = own
        var number = 1
        // No race: the caller holds the profile.
        while faccessat(folder.descriptor, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 {
            number += 1
            name = "\(own).\(number)"
        }
        try check("set a file aside") { renameat(AT_FDCWD, path, folder.descriptor, name) }
        try folder.synchronise()
        return name
    }
}
