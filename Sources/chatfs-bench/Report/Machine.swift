import Base
import Glibc
import Posix

/// The measured machine.
enum Machine {
    static func describe(_ plan: Plan) -> [(name: String, value: String)] {
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
            ("Plain filesystem", fileSystem(of: plan.folder)),
            ("Load before", text("/proc/loadavg").split(separator: " ").first.map(String.init) ?? ""),
            ("Build", isOptimised ? "release" : "debug, not for comparison"),
            ("Repetitions", "\(plan.repetitions)"),
        ]
    }

    private static var isOptimised: Bool {
        var result = true
        // Evaluated only in builds without optimisation.
        assert(
            {
                result = false
                return true
            }())
        return result
    }

    /// The date in UTC, YYYY-MM-DD.
    static func today() -> String {
        var now = time(nil)
        var parts = tm()
        gmtime_r(&now, &parts)
        let two: (Int32) -> String = { $0 < 10 ? "0\($0)" : "\($0)" }
        return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
    }

    /// Returns the type of the mount that holds `folder`: the longest matching mountpoint.
    private static func fileSystem(of folder: String) -> String {
        let mounts = (try? MountTable.mounts()) ?? []
        let holding = mounts.filter { folder.path(below: $0.path) != nil }
        return holding.max { $0.path.utf8.count < $1.path.utf8.count }?.type ?? "unknown"
    }

    private static func text(_ path: String) -> String {
        guard let file = try? OpenFile(path, flags: O_RDONLY),
            let bytes = try? file.read(count: 1 << 20, at: 0)
        else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }
}
