import Glibc
import Posix
import TestSupport
import Testing

@Suite("An idle mount", .serialized)
struct IdleTests {
    /// Number of sleeps of each thread, by thread id and name.
    private func sleeps(of process: pid_t) -> [String: Int] {
        var counts: [String: Int] = [:]
        for thread in ProcessInformation.names(in: "/proc/\(process)/task") {
            let folder = "/proc/\(process)/task/\(thread)"
            guard let name = ProcessInformation.bytes(of: folder + "/comm"),
                let status = ProcessInformation.bytes(of: folder + "/status")
            else { continue }
            let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first {
                $0.hasPrefix("voluntary_ctxt_switches:")
            }
            let text = String(decoding: name.dropLast(), as: UTF8.self)
            counts["\(text) \(thread)"] = line?.split(separator: "\t").last.flatMap { Int($0) }
        }
        return counts
    }

    /// Threads that woke up during `time`, with counts. Threads of the runtime's pool come and go.
    private func wakeUps(of process: pid_t, in time: Duration) async throws -> [String: Int] {
        let before = sleeps(of: process)
        try await Task.sleep(for: time)
        let after = sleeps(of: process)
        return after.compactMapValues { $0 }.reduce(into: [:]) { woken, thread in
            let count = thread.value - (before[thread.key] ?? 0)
            if count > 0 { woken[thread.key] = count }
        }
    }

    private func resident(_ process: pid_t) throws -> Int {
        let status = ProcessInformation.bytes(of: "/proc/\(process)/status") ?? []
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first {
            $0.hasPrefix("VmRSS:")
        }
        return try #require(line?.split(separator: " ").dropLast().last.flatMap { Int($0) }) << 10
    }

    @Test("1,000 files take less than 20 MiB")
    func memory() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        for number in 0..<1_000 { try mounts.write([1], to: "alice/bob/\(number).txt") }
        try await mounts.mount("bob")
        try await mounts.waitForFiles((0..<1_000).map { "\($0).txt" }, in: "bob/alice")
        for name in ["alice", "bob"] {
            let process = try mounts.daemon(name).processIdentifier
            try await wait(until: "\(name)'s memory is given back", within: .seconds(60)) {
                try resident(process) < 20 << 20
            }
        }
        #expect(try mounts.read("bob/alice/7.txt") == [1])
        #expect(try mounts.folder.names(in: "alice/bob").count == 1_000)
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
    }

    @Test("no thread wakes up with 1,000 files")
    func mount() async throws {
        let mounts = try await TwoMounts.start()
        try await mounts.send(TwoMounts.bytes(400_000), as: "film.bin")
        for number in 0..<1_000 { try mounts.write([1], to: "alice/bob/\(number).txt") }
        try await mounts.waitForFiles((0..<1_000).map { "\($0).txt" }, in: "bob/alice")
        #expect(try mounts.read("bob/alice/film.bin") == TwoMounts.bytes(400_000))
        for name in ["alice", "bob"] {
            let process = try mounts.daemon(name).processIdentifier
            var last: [String: Int] = [:]
            // Idle connections to the relay are closed after a while.
            try await wait(until: "\(name)'s mount is idle: \(last)", within: .seconds(180)) {
                let woken = try await wakeUps(of: process, in: .seconds(4))
                // libdispatch's check of its threads, once a second, cannot be disabled.
                last = woken.filter { !($0.key.contains("overcommit") && $0.value <= 6) }
                return last.isEmpty
            }
        }
    }
}
