import Glibc
import Posix
import TestSupport
import Testing

/// Notices to the kernel wait uninterruptibly for a folder's lock, which a program creating a file holds until the
/// daemon replies.
@Suite("Daemons killed during notices to the kernel", .serialized)
struct KilledNoticeTests {
    @Test("a daemon killed during a waiting notice ends", arguments: [1, 6])
    func killed(writers count: Int) async throws {
        let mounts = try await TwoMounts.start(mounting: ["bob"], encrypted: false)
        try await mounts.mount("alice", ["--quiet-time", "0s"])
        try await mounts.send([1], as: "first.txt")
        let connection = try FuseControl.number(of: mounts.path("bob"))
        let daemon = try mounts.daemon("bob")
        // Bob's draft cannot be created while another process locks his journal.
        let journal = try await RunningProcess.start(
            holdingJournal(mounts.data + "/profiles/2/outbox/journal.sqlite"))
        try await journal.line("that it writes") { $0 == "writing" }
        // Enough to exceed the retries of a busy journal.
        var writers: [RunningProcess] = []
        for number in 0..<count {
            let path = mounts.path("bob/alice/draft \(number).txt")
            writers.append(
                try await RunningProcess.start(
                    ChildProcess.Settings("/bin/sh", ["-c", "until : >\"$0\"; do :; done", path])))
        }
        var sent = 0
        try await wait(until: "a notice waits") {
            try mounts.write([1], to: "alice/bob/\(sent).txt")
            sent += 1
            return isWaiting(daemon.processIdentifier)
        }
        // Later writers get the lock afterwards. The process that refuses them starts once a notice has waited briefly.
        if count > 1 {
            try await wait(until: "a process stands by") { hasStandby(daemon.processIdentifier) }
        }
        daemon.send(SIGKILL)
        do {
            try await daemon.ending(within: .seconds(20))
        } catch {
            // Processes that wait for it cannot be ended otherwise.
            if FuseControl.isReachable { try await FuseControl.abort(connection) }
            throw error
        }
        for writer in writers {
            writer.send(SIGKILL)
            try await writer.ending()
        }
        journal.send(SIGKILL)
        try await journal.ending()
        try await mounts.mount("bob")
        try await mounts.waitForFiles((0..<sent).map { "\($0).txt" }, in: "bob/alice")
        #expect(try await mounts.leave("bob") == .code(0))
    }

    private func holdingJournal(_ path: String) throws -> ChildProcess.Settings {
        let script = """
            import sqlite3, sys
            connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
            connection.execute("BEGIN IMMEDIATE")
            print("writing", flush=True)
            sys.stdin.read()
            """
        var settings = ChildProcess.Settings(try Shell.find("python3"), ["-c", script, path])
        settings.input = .pipe
        return settings
    }

    /// Returns true if the notice thread waits in the kernel.
    private func isWaiting(_ process: pid_t) -> Bool {
        ProcessInformation.names(in: "/proc/\(process)/task").contains { thread in
            let bytes = ProcessInformation.bytes(of: "/proc/\(process)/task/\(thread)/stat") ?? []
            return String(decoding: bytes, as: UTF8.self).contains("(notices-0) D ")
        }
    }

    private func hasStandby(_ process: pid_t) -> Bool {
        ProcessInformation.names(in: "/proc/\(process)/task").contains { thread in
            let children = ProcessInformation.bytes(of: "/proc/\(process)/task/\(thread)/children") ?? []
            return String(decoding: children, as: UTF8.self).split(separator: " ").contains { child in
                let command = ProcessInformation.bytes(of: "/proc/\(child)/cmdline") ?? []
                return String(decoding: command, as: UTF8.self).contains("refuse-requests")
            }
        }
    }
}
