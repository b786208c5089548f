import Base
import Glibc
import Posix

/// Folders of this process in a temporary folder of `contrib/fuzz`.
enum Scratch {
    private static let made = Lock(0)

    /// A path without a file.
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

    /// Creates a file in memory with these bytes.
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
