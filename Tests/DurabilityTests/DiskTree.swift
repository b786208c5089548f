import Glibc
import Posix

/// A real folder in the model's form: paths below it, those of folders with a trailing slash.
enum DiskTree {
    static func contents(of root: String) throws -> [(path: String, file: UInt64, bytes: [UInt8])] {
        var result: [(path: String, file: UInt64, bytes: [UInt8])] = []
        var open = [""]
        while let folder = open.popLast() {
            for name in try PrivateFolder.names(in: OpenFile(root + "/" + folder, flags: O_RDONLY)) {
                var status = stat()
                try check("look at a file") { lstat(root + "/" + folder + name, &status) }
                if status.st_mode & S_IFMT == S_IFDIR {
                    result.append((folder + name + "/", UInt64(status.st_ino), []))
                    open.append(folder + name + "/")
                } else if status.st_mode & S_IFMT == S_IFREG {
                    let file = try OpenFile(root + "/" + folder + name, flags: O_RDONLY)
                    result.append((folder + name, UInt64(status.st_ino), try file.readAll(limit: 1 << 28)))
                }
            }
        }
        return result
    }

    /// Creates the folder `root` with these contents.
    static func write(_ state: [String: [UInt8]], to root: String) throws {
        try check("make a folder") { mkdir(root, 0o700) }
        for path in state.keys.sorted() {
            if path.hasSuffix("/") {
                try check("make a folder") { mkdir(root + "/" + path, 0o700) }
            } else {
                let file = try OpenFile(root + "/" + path, flags: O_WRONLY | O_CREAT)
                try file.write(state[path] ?? [], at: 0)
            }
        }
    }

    static func remove(_ root: String) throws {
        try PrivateFolder.removeContents(of: OpenFile(root, flags: O_RDONLY), keeping: [])
        try check("remove a folder") { rmdir(root) }
    }
}
