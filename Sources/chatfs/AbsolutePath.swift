import Base
import Glibc

/// Paths of the command line, relative to the current directory of the command.
enum AbsolutePath {
    static func of(_ path: String) -> String {
        if path.isAbsolutePath { return path }
        guard let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        return String(cString: folder) + "/" + path
    }
}
