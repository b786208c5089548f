import Base
import Glibc
import Posix

/// Files and folders of a data directory that others than their owner may look into, by their modes. What is made is
/// 0600 or 0700; what was copied, or put there by another program, may not be. No link is followed. All calls block.
struct ExposedFiles {
    struct Exposed {
        /// Below the data directory.
        let path: String
        let mode: mode_t
        let isFolder: Bool
    }

    /// A folder that was not looked into, with what lies in it.
    struct Unread {
        /// Below the data directory.
        let path: String
        let error: SystemError
    }

    struct Result {
        fileprivate(set) var exposed: [Exposed] = []
        fileprivate(set) var unread: [Unread] = []
    }

    private let root: String
    /// Below the root; empty: the root with what lies in it, without its folders.
    private let own: String

    private static let depth = 6

    /// - Parameters:
    ///   - directory: absolute.
    ///   - profileFolder: absolute, in it.
    init(directory: String, profileFolder: String) {
        root = directory
        own = profileFolder.path(below: directory) ?? ""
    }

    /// Of the directory itself, what lies right in it, and all of the profile.
    func find() -> Result {
        var found = Result()
        walk("", "", in: nil, depth: 0, &found)
        walk("\(root)/\(own)", own, in: nil, depth: Self.depth, &found)
        return found
    }

    /// - Parameters:
    ///   - name: in `parent`; nil: a path.
    ///   - path: below the data directory.
    private func walk(
        _ name: String, _ path: String, in parent: OpenFile?, depth: Int, _ found: inout Result
    ) {
        do throws(SystemError) {
            let isRoot = path.isEmpty
            let flags = O_RDONLY | O_DIRECTORY | (isRoot ? 0 : O_NOFOLLOW)
            // What has gone meanwhile is open to nobody.
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
        // It may have gone; what cannot be looked at otherwise, its folder shows to nobody.
        guard fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return false }
        let kind = status.st_mode & S_IFMT
        guard kind == S_IFREG || kind == S_IFDIR else { return false }
        let mode = status.st_mode & 0o777
        if mode & 0o077 != 0 {
            found.exposed.append(Exposed(path: path, mode: mode, isFolder: kind == S_IFDIR))
        }
        return kind == S_IFDIR
    }

    /// Takes the rights of others.
    func close(_ exposed: Exposed) throws(SystemError) {
        let flags = O_RDONLY | O_NOFOLLOW | (exposed.isFolder ? O_DIRECTORY : 0)
        let file = try OpenFile(exposed.path.isEmpty ? root : "\(root)/\(exposed.path)", flags: flags)
        try check("close a file to others") { fchmod(file.descriptor, exposed.mode & 0o700) }
    }
}
