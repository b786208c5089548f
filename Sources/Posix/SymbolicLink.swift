import Glibc

/// Symbolic links, also those of proc(5). All calls block.
public enum SymbolicLink {
    /// Returns the target of one link, or nil for anything else and without access.
    public static func target(of link: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(link, &buffer, buffer.count)
        guard count > 0 else { return nil }
        return String(decoding: buffer[..<count].lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Returns the absolute path without any link.
    /// - Parameter operation: The operation for the error.
    /// - Throws: As realpath(3).
    public static func resolved(_ path: String, to operation: String) throws(SystemError) -> String {
        guard let text = realpath(path, nil) else { throw SystemError(code: errno, operation: operation) }
        defer { free(text) }
        return String(cString: text)
    }
}
