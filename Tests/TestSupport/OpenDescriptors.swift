import Glibc
import Posix

/// The open descriptors of this process.
public enum OpenDescriptors {
    /// The open paths by descriptor. The kernel ends the path of an unlinked file with " (deleted)".
    public static func paths() throws -> [Int32: String] {
        let folder = try OpenFile("/proc/self/fd", flags: O_RDONLY | O_DIRECTORY)
        var paths: [Int32: String] = [:]
        for number in try PrivateFolder.names(in: folder).compactMap({ Int32($0) }) {
            var path = [UInt8](repeating: 0, count: Int(PATH_MAX))
            let count = path.withUnsafeMutableBytes {
                $0.withMemoryRebound(to: CChar.self) { path in
                    path.baseAddress.map { readlink("/proc/self/fd/\(number)", $0, path.count) } ?? 0
                }
            }
            if count > 0 { paths[number] = String(decoding: path.prefix(count), as: UTF8.self) }
        }
        return paths
    }
}
