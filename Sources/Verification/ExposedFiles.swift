import Base
import Glibc
import Posix

/// Files and directories of a data directory whose mode grants access to other users. ChatFS creates them with 0600 or
/// 0700; files copied there or created by other programs may differ. Follows no links. All calls block.
struct ExposedFiles {
    struct Exposed {
        /// Path relative to the data directory.
        let path: String
        let mode: mode_t
        let isFolder: Bool
    }

    /// A directory that could not be read.
    struct Unread {
        /// Path relative to the data directory.
        let path: String
        let error: SystemError
    }

    struct Result {
        fileprivate(set) var exposed: [Exposed] = []
        fileprivate(set) var unread: [Unread] = []
    }

    private let root: String
    /// Path relative to the root; empty for the root with its files, without its directories.
    private let own: String

    private static let depth = 6

    /// - Parameters:
    ///   - directory: Absolute path of the data directory.
    ///   - profileFolder: Absolute path of the profile's directory within it.
    init(directory: String, profileFolder: String) {
        root = directory
        own = profileFolder.path(below: directory) ?? ""
    }

    /// Searches the data directory, its direct entries, and the whole profile.
    func find() -> Result {
        var found = Result()
        walk("", "", in: nil, depth: 0, &found)
        walk("\(root)/\(own)", own, in: nil, depth: Self.depth, &found)
        return found
    }

    /// - Parameters:
    ///   - name: Name in `parent`; a path if `parent` is nil.
    ///   - path: Path relative to the data directory.
    private func walk(
        _ name: String, _ path: String, in parent: OpenFile?, depth: Int, _ found: inout Result
    ) {
        do throws(SystemError) {
            let isRoot = path.isEmpty
            let flags = O_RDONLY | O_DIRECTORY | (isRoot ? 0 : O_NOFOLLOW)
            // A vanished directory exposes nothing.
            guard let folder = try OpenFile.existing(isRoot ? root : name, flags: flags, in: parent) else {
                return
            }
            if isRoot { look(at: ".", in: folder, as: "", &found) }
            let prefix = isRoot ? "" : path + "/"
            for name in try PrivateFolder.names(in: folder) {
                let isFolder = look(at: name, in: folder, as: prefix + name, &found)
                if isFolder, depth > 0 { walk(name, prefix + name, in: folder, depth: depth - 1, &found) }
            }
        } catch {
            found.unread.append(Unread(path: path, error: error))
        }
    }

    @discardableResult
    private func look(
        at name: String, in folder: OpenFile, as path: String, _ found: inout Result
    ) -> Bool {
        var status = stat()
        // The file is gone, or its directory denies access to all.
        guard fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return false }
        let kind = status.st_mode & S_IFMT
        guard kind == S_IFREG || kind == S_IFDIR else { return false }
        let mode = status.st_mode & 0o777
        if mode & 0o077 != 0 {
            found.exposed.append(Exposed(path: path, mode: mode, isFolder: kind == S_IFDIR))
        }
        return kind == S_IFDIR
    }

    /// Removes the access of other users.
    func close(_ exposed: Exposed) throws(SystemError) {
        let flags = O_RDONLY | O_NOFOLLOW | (exposed.isFolder ? O_DIRECTORY : 0)
        let file = try OpenFile(exposed.path.isEmpty ? root : "\(root)/\(exposed.path)", flags: flags)
        try check("close a file to others") { fchmod(file.descriptor, exposed.mode & 0o700) }
    }
}
