import Base
import Glibc

/// Paths of the command line, which are taken from the folder in which the command was started.
enum AbsolutePath {
    static func of(_ path: String) -> String {
        if path.isAbsolutePath { return path }
        guard let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        return String(cString: folder) + "/" + path
    }
}
