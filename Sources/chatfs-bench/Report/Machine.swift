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
    static func today() -> String { String(SystemWallClock().now().iso8601.prefix(10)) }

    /// Returns the type of the mount that holds `folder`: the longest matching mountpoint.
    private static func fileSystem(of folder: String) -> String {
        let mounts = (try? MountTable.mounts()) ?? []
        let holding = mounts.filter { folder.path(below: $0.path) != nil }
        return holding.max { $0.path.utf8.count < $1.path.utf8.count }?.type ?? "unknown"
    }

    private static func text(_ path: String) -> String {
        String(decoding: ProcessInformation.bytes(of: path, limit: 1 << 20) ?? [], as: UTF8.self)
    }
}
