import Glibc
import Posix

/// The kernel's counters of a process from proc(5), readable also for undumpable processes.
struct ProcessFigures: Sendable {
    let process: pid_t

    /// The processor time of all threads, in the kernel and outside, in seconds.
    func processorTime() throws -> Double {
        // The name in parentheses may contain any character; fields 14 and 15 count from its end.
        guard let rest = try text("stat").split(separator: ")").last else { throw gone }
        let fields = rest.split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
            throw gone
        }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// The memory in use in bytes.
    func memory() throws -> Double { try status("VmRSS:") }
    /// The peak of memory in use.
    func peakMemory() throws -> Double { try status("VmHWM:") }

    /// Returns whether a thread runs, is runnable, or waits for the disk.
    func isBusy() throws -> Bool {
        let threads = try OpenFile("/proc/\(process)/task", flags: O_RDONLY | O_DIRECTORY)
        return try PrivateFolder.names(in: threads).contains { thread in
            // An ended thread is not busy.
            let state = try? text("task/\(thread)/stat").split(separator: ")").last?.first { $0 != " " }
            return state == "R" || state == "D"
        }
    }

    /// Waits until the process was idle for half a second.
    func rest(on stage: Stage) async throws {
        var last = try processorTime()
        var quiet = 0
        let end = ContinuousClock.now + .seconds(60)
        while quiet < 5 {
            try await Task.sleep(for: .milliseconds(100))
            try stage.check()
            guard ContinuousClock.now < end else {
                throw BenchError(.failed, "A mount did not come to rest.")
            }
            let now = try processorTime()
            let isBusy = try isBusy()
            quiet = isBusy || now - last > 0.011 ? 0 : quiet + 1
            last = now
        }
    }

    private func status(_ field: String) throws -> Double {
        let line = try text("status").split(separator: "\n").first { $0.hasPrefix(field) }
        guard let kibibytes = line?.split(separator: " ").dropFirst().first.flatMap({ Double($0) }) else {
            throw gone
        }
        return kibibytes * 1024
    }

    private func text(_ name: String) throws(SystemError) -> String {
        let file = try OpenFile("/proc/\(process)/\(name)", flags: O_RDONLY)
        return String(decoding: try file.read(count: 16_384, at: 0), as: UTF8.self)
    }

    private var gone: BenchError {
        BenchError(.failed, "A process was gone before its figures were read.")
    }
}

extension Mounted {
    var figures: ProcessFigures { ProcessFigures(process: process.identifier) }
}
