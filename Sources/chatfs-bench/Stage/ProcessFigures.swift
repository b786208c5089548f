import Glibc
import Posix

/// What the kernel counts for a process: proc(5), readable for processes that hide their memory too.
struct ProcessFigures: Sendable {
    let process: pid_t

    /// Processor time of all its threads, in the kernel and outside, in seconds.
    func processorTime() throws -> Double {
        // The name in parentheses may hold anything; fields 14 and 15 count from there.
        guard let rest = try text("stat").split(separator: ")").last else { throw gone }
        let fields = rest.split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
            throw gone
        }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Bytes of memory in use now.
    func memory() throws -> Double { try status("VmRSS:") }
    /// Those of them that are pages of no file, so that nobody shares them.
    func ownMemory() throws -> Double { try status("RssAnon:") }
    /// The most there ever were.
    func peakMemory() throws -> Double { try status("VmHWM:") }

    /// How often each of its threads has gone to sleep since it began.
    func sleeps() throws -> [String: Double] {
        let threads = try OpenFile("/proc/\(process)/task", flags: O_RDONLY | O_DIRECTORY)
        return try PrivateFolder.names(in: threads).reduce(into: [:]) { counts, thread in
            // One that ended meanwhile does not sleep.
            let lines = try? text("task/\(thread)/status").split(separator: "\n")
            let line = lines?.first { $0.hasPrefix("voluntary_ctxt_switches:") }
            counts[thread] = line?.split(separator: "\t").last.flatMap { Double($0) }
        }
    }

    /// How often its threads go to sleep in a while, which is how often they are woken. Of threads that end in it
    /// nothing is known.
    func awakenings(within time: Duration) async throws -> Double {
        let before = try sleeps()
        try await Task.sleep(for: time)
        return try sleeps().reduce(0) { $0 + $1.value - (before[$1.key] ?? 0) }
    }

    /// Whether one of its threads runs, would run, or waits for the disk.
    func isBusy() throws -> Bool {
        let threads = try OpenFile("/proc/\(process)/task", flags: O_RDONLY | O_DIRECTORY)
        return try PrivateFolder.names(in: threads).contains { thread in
            // One that ended meanwhile is not busy.
            let state = try? text("task/\(thread)/stat").split(separator: ")").last?.first { $0 != " " }
            return state == "R" || state == "D"
        }
    }

    /// Waits until the process has done nothing for half a second: what was asked of it is finished.
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
