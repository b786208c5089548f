import Base
import Glibc

/// A path that must not lead into a mount of this process, which would wait for itself there.
enum PathOutside {
    /// Follows links by hand, so that nothing below `mountpoint` is ever looked at. Nil where it leads there, or
    /// nowhere.
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
                // Once it is there, what is behind it might lead anywhere.
                return left.contains("..") ? nil : next + left.map { "/" + $0 }.joined()
            }
            guard status.st_mode & S_IFMT == S_IFLNK else {
                done = next
                continue
            }
            links += 1
            var target = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
            let length = readlink(next, &target, Int(PATH_MAX))
            guard links <= 40, length > 0 else { return nil }
            let text = String(decoding: target[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if text.isAbsolutePath { done = "" }
            left = text.pathNames + left
        }
        return done.isEmpty ? "/" : done
    }
}
