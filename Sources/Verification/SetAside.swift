import Base
import Glibc
import Posix

/// Where files go that nothing names: into the folder `set-aside` of their profile, under their own names, never over
/// another. Nothing is deleted. All calls block.
struct SetAside {
    private let folder: OpenFile

    /// Made when it is missing.
    init(profileFolder: String) throws(SystemError) {
        let own = try OpenFile(profileFolder, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        folder = try PrivateFolder.folder("set-aside", in: own)
    }

    /// Moves a file, or a folder, of the same filesystem. Durable when it returns.
    /// - Returns: its name there.
    @discardableResult
    func move(_ path: String) throws(SystemError) -> String {
        let own = path.lastPathName ?? "file"
        var name = own
        var number = 1
        // Nobody else puts anything there: who sets aside holds the profile.
        while faccessat(folder.descriptor, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 {
            number += 1
            name = "\(own).\(number)"
        }
        try check("set a file aside") { renameat(AT_FDCWD, path, folder.descriptor, name) }
        try folder.synchronise()
        return name
    }
}
