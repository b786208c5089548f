import Glibc
import Posix

/// What the figures were taken on.
enum Machine {
    static func describe(folder: String) -> [(name: String, value: String)] {
        let lines = text("/proc/cpuinfo").split(separator: "\n")
        let model = lines.first { $0.hasPrefix("model name") }?.split(separator: ":").last ?? " unknown"
        let memory = text("/proc/meminfo").split(separator: "\n").first?.split(separator: " ").dropFirst()
            .first
        let gibibytes = memory.flatMap { Int($0) }.map { "\($0 >> 20) GiB" } ?? "unknown"
        return [
            ("Processor", "\(sysconf(Int32(_SC_NPROCESSORS_ONLN))) ×\(model)"), ("Memory", gibibytes),
            (
                "Kernel",
                text("/proc/sys/kernel/osrelease").split(separator: "\n").first.map(String.init) ?? ""
            ),
            ("Plain filesystem", fileSystem(of: folder)),
        ]
    }

    /// The type of the mount that holds `folder`: the longest mountpoint that leads to it.
    private static func fileSystem(of folder: String) -> String {
        let mounts = (try? MountTable.mounts()) ?? []
        let holding = mounts.filter { $0.path == "/" || folder == $0.path || folder.hasPrefix($0.path + "/") }
        return holding.max { $0.path.count < $1.path.count }?.type ?? "unknown"
    }

    private static func text(_ path: String) -> String {
        guard let file = try? OpenFile(path, flags: O_RDONLY),
            let bytes = try? file.read(count: 1 << 20, at: 0)
        else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The most memory that a process had in use, in bytes: VmHWM of proc(5).
    static func peakMemory(of process: pid_t) -> Double? {
        let line = text("/proc/\(process)/status").split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split(separator: " ").dropFirst().first.flatMap { Double($0) }.map { $0 * 1024 }
    }
}
