import Base
import CLinux
import Glibc

/// What a confined program needs to be one: itself, and where systems keep programs and libraries. Nobody's own
/// files lie there.
enum ReadableFiles {
    private static let system = [
        "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store", "/etc/ld.so.cache",
        "/etc/ld.so.preload",
    ]

    /// Paths for `program`.
    static func paths(for program: String) -> [String] {
        var paths = system + [program] + ownLibraries
        // What was unpacked somewhere has its libraries beside it.
        if let real = realpath(program, nil) {
            let folders = String(cString: real).pathNames.dropLast(2)
            free(real)
            if !folders.isEmpty { paths.append("/" + folders.joined(separator: "/") + "/lib") }
        }
        return paths
    }

    /// Folders of the libraries that this process has loaded: the child may be this program.
    private static let ownLibraries: [String] = {
        var folders: Set<String> = []
        withUnsafeMutablePointer(to: &folders) { folders in
            chatfs_each_library(
                { path, folders in
                    guard let path else { return }
                    folders?.assumingMemoryBound(to: Set<String>.self).pointee.insert(
                        String(cString: path).parentPath)
                }, folders)
        }
        return folders.subtracting(["/", "."]).sorted()
    }()
}
