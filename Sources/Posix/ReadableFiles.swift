import Base
import CLinux
import Glibc

/// The files that a confined program needs: itself, and the system's folders of programs and libraries. Users keep no
/// files there.
enum ReadableFiles {
    private static let system = [
        "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store", "/etc/ld.so.cache",
        "/etc/ld.so.preload",
    ]

    /// Returns the paths for `program`.
    static func paths(for program: String) -> [String] {
        var paths = system + [program] + ownLibraries
        // An unpacked program has its libraries next to it.
        if let real = realpath(program, nil) {
            let folders = String(cString: real).pathNames.dropLast(2)
            free(real)
            if !folders.isEmpty { paths.append("/" + folders.joined(separator: "/") + "/lib") }
        }
        return paths
    }

    /// The folders of this process's loaded libraries, because the child may be this program.
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
