import Base
import Glibc

/// Finds programs by name, as a shell does.
public enum ProgramSearch {
    /// The folders of PATH, or the usual ones without it.
    public static func folders() -> [String] {
        let search = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/bin:/usr/bin:/bin"
        return search.utf8.split(separator: UInt8(ascii: ":")).map { String(decoding: $0, as: UTF8.self) }
            .filter(\.isAbsolutePath)
    }

    /// Returns the first program of that name that this user may run, or nil.
    public static func path(of name: String, in folders: [String] = folders()) -> String? {
        folders.map { "\($0)/\(name)" }.first { isFile($0) && access($0, X_OK) == 0 }
    }

    /// access(2) also permits folders to be "run".
    private static func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }
}
