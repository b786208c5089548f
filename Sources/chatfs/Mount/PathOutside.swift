import Base
import Glibc
import Posix

/// Resolves paths that must not lead into this process's own mount, where its access would deadlock.
enum PathOutside {
    /// Resolves links one by one, so that nothing below `mountpoint` is accessed. Returns nil if the path leads there
    /// or is invalid.
    static func resolved(_ path: String, outside mountpoint: String) -> String? {
        var left = path.pathNames
        var done = ""
        var links = 0
        while !left.isEmpty {
            let part = left.removeFirst()
            if part == "." { continue }
            if part == ".." {
                done = done.pathNames.dropLast().map { "/" + $0 }.joined()
                continue
            }
            let next = done + "/" + part
            if next.hasSameBytes(as: mountpoint) { return nil }
            var status = stat()
            guard lstat(next, &status) == 0 else {
                // A component created later may be a link, so `..` after it is refused.
                return left.contains("..") ? nil : next + left.map { "/" + $0 }.joined()
            }
            guard status.st_mode & S_IFMT == S_IFLNK else {
                done = next
                continue
            }
            links += 1
            guard links <= 40, let target = SymbolicLink.target(of: next) else { return nil }
            if target.isAbsolutePath { done = "" }
            left = target.pathNames + left
        }
        return done.isEmpty ? "/" : done
    }
}
