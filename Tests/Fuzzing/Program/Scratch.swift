import Base
import Glibc
import Posix

/// Folders of this process, in a temporary folder that `contrib/fuzz` makes and removes.
enum Scratch {
    private static let made = Lock(0)

    /// A path where nothing is yet.
    static func newPath(_ name: String) -> String {
        let number = made.withLock { made in
            made += 1
            return made
        }
        let root = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        return "\(root)/\(name)-\(getpid())-\(number)"
    }

    static func newFolder(_ name: String) -> String {
        let path = newPath(name)
        hold(mkdir(path, 0o700) == 0, "a folder can be made")
        return path
    }

    /// A file in memory with these bytes.
    static func file(_ bytes: [UInt8]) -> OpenFile {
        do throws(SystemError) {
            let file = try OpenFile.inMemory()
            try file.write(bytes, at: 0)
            return file
        } catch {
            fatalError("a file in memory cannot be made: \(error)")
        }
    }
}
