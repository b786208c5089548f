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

    private let root: String
    /// Below the root; empty: the root with what lies in it, without its folders.
    private let own: String

    private static let depth = 6

    /// - Parameters:
    ///   - directory: absolute.
    ///   - profileFolder: absolute, in it.
    init(directory: String, profileFolder: String) {
        root = directory
        own = String(profileFolder.dropFirst(directory.count).drop { $0 == "/" })
    }

    /// Of the directory itself, what lies right in it, and all of the profile.
    func find() -> [Exposed] {
        var found: [Exposed] = []
        if let folder = try? OpenFile(root, flags: O_RDONLY | O_DIRECTORY) {
            look(at: ".", in: folder, as: "", &found)
            walk(folder, "", depth: 0, &found)
        }
        if let folder = try? OpenFile("\(root)/\(own)", flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW) {
            walk(folder, own + "/", depth: Self.depth, &found)
        }
        return found
    }

    private func walk(_ folder: OpenFile, _ prefix: String, depth: Int, _ found: inout [Exposed]) {
        for name in (try? PrivateFolder.names(in: folder)) ?? [] {
            let isFolder = look(at: name, in: folder, as: prefix + name, &found)
            guard isFolder, depth > 0,
                let inner = try? OpenFile(name, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW, in: folder)
            else { continue }
            walk(inner, prefix + name + "/", depth: depth - 1, &found)
        }
    }

    @discardableResult
    private func look(
        at name: String, in folder: OpenFile, as path: String, _ found: inout [Exposed]
    ) -> Bool {
        var status = stat()
        guard fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return false }
        let kind = status.st_mode & S_IFMT
        guard kind == S_IFREG || kind == S_IFDIR else { return false }
        let mode = status.st_mode & 0o777
        if mode & 0o077 != 0 {
            found.append(Exposed(path: path, mode: mode, isFolder: kind == S_IFDIR))
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
