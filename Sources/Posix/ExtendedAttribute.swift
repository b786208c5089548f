import CLinux
import Glibc

/// Extended attributes of files: xattr(7). Symbolic links are not followed.
public enum ExtendedAttribute {
    /// Returns the value of `name`, at most 64 KiB, or nil if the file or its filesystem (ENOTSUP) has none.
    /// - Throws: As getxattr(2), except ENODATA and ENOTSUP.
    public static func value(_ name: String, of path: String) throws(SystemError) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        do throws(SystemError) {
            let count = try check("read an attribute") {
                chatfs_getxattr(path, name, &buffer, buffer.count)
            }
            return Array(buffer.prefix(count))
        } catch {
            if error.code == ENODATA || error.code == EOPNOTSUPP { return nil }
            throw error
        }
    }

    /// The same as text.
    /// - Throws: As `value`.
    public static func text(_ name: String, of path: String) throws(SystemError) -> String? {
        try value(name, of: path).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Sets or replaces the value.
    /// - Throws: As setxattr(2).
    public static func set(_ name: String, to value: [UInt8], of path: String) throws(SystemError) {
        try check("set an attribute") { chatfs_setxattr(path, name, value, value.count) }
    }
}
