import Base
import Posix

/// A process that keeps a mount busy, and its uses. Reads /proc (proc(5)), where the kernel names used files without
/// requests to the filesystem, so a hanging mount does not block. Other users' processes are visible to root only.
public struct MountHolder: Hashable, Sendable {
    public let process: Int32
    /// Process name, as `ps` shows it.
    public let name: String
    /// Distinct paths below the mountpoint, sorted; `.` is the mountpoint itself.
    public let uses: [String]

    /// For example `cat (process 1234: bob/film.mp4)`, with at most three uses.
    public var text: String {
        let shown = uses.prefix(3).joined(separator: ", ")
        let more = uses.count > 3 ? " and \(uses.count - 3) more" : ""
        return "\(name) (process \(process): \(shown)\(more))"
    }

    /// Returns all holders by process id. Blocks.
    /// - Parameter mountpoint: Absolute path as in the mount table.
    public static func all(of mountpoint: String) -> [MountHolder] {
        ProcessInformation.processes().sorted().compactMap { process in
            let uses = uses(of: mountpoint, by: process)
            guard !uses.isEmpty else { return nil }
            let name = ProcessInformation.name(of: process) ?? "a process"
            return MountHolder(process: process, name: name, uses: uses)
        }
    }

    private static func uses(of mountpoint: String, by process: Int32) -> [String] {
        let folder = "/proc/\(process)"
        let links = ["cwd", "root", "exe"] + ProcessInformation.names(in: "\(folder)/fd").map { "fd/" + $0 }
        let paths = links.compactMap { SymbolicLink.target(of: "\(folder)/\($0)") } + mappedFiles(folder)
        return Set(paths.compactMap { below(mountpoint, $0) }).sorted()
    }

    /// Returns the part of `path` below the mountpoint, or nil.
    private static func below(_ mountpoint: String, _ path: String) -> String? {
        path.path(below: mountpoint).map { $0.isEmpty ? "." : $0 }
    }

    /// Parses `7f00-7f01 r--p 00000000 00:2f 12   /path`: the path begins at the first slash.
    private static func mappedFiles(_ folder: String) -> [String] {
        // A limit for processes with very many mappings.
        let bytes = ProcessInformation.bytes(of: "\(folder)/maps", limit: 4 << 20) ?? []
        return bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
            guard let slash = line.firstIndex(of: UInt8(ascii: "/")) else { return nil }
            return String(decoding: line[slash...], as: UTF8.self)
        }
    }
}
