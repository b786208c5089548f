import Glibc
import Posix
import TestSupport
import Testing

/// Commands with keys leave no core dump, however short they run.
@Suite struct HardeningTests {
    @Test(
        "commands with keys cannot be traced",
        arguments: [
            ["file", "info", "PIPE"], ["cryptofile", "decrypt", "IN", "OUT", "--args", "PIPE"],
            ["send", "--text", "-", "bob"],
        ])
    func hardened(words: [String]) async throws {
        let folder = try TemporaryFolder()
        // Opening it waits for a writer.
        #expect(mkfifo(folder.path("pipe"), 0o600) == 0)
        try folder.write([1], to: "in")
        let places = ["PIPE": folder.path("pipe"), "OUT": folder.path("out"), "IN": folder.path("in")]
        // Open on both sides, so that reading waits too.
        let input = try OpenFile(folder.path("pipe"), flags: O_RDWR)
        // With core dumps permitted, as on most systems.
        let script = #"ulimit -c unlimited 2>/dev/null; exec "$@""#
        var settings = ChildProcess.Settings(
            "/bin/sh", ["-c", script, "sh", ChatFSProcess.path] + words.map { places[$0] ?? $0 })
        settings.environment = ["HOME": folder.path, "CREDENTIALS_DIRECTORY": ChatFSProcess.credentials]
        settings.input = .file(input)
        let process = try await RunningProcess.start(settings)
        let path = "/proc/\(process.processIdentifier)"
        try await wait(until: "its dumps are forbidden") {
            guard ProcessInformation.bytes(of: path + "/comm") == Array("chatfs\n".utf8) else { return false }
            let limits = try OpenFile(path + "/limits", flags: O_RDONLY).read(count: 8192, at: 0)
            let line = String(decoding: limits, as: UTF8.self).split(separator: "\n").first {
                $0.hasPrefix("Max core file size")
            }
            // Files of root here are inaccessible to this user; root can access all.
            var status = stat()
            let isClosed = stat(path + "/mem", &status) == 0 && status.st_uid == 0
            return isClosed && line?.split(separator: " ").suffix(3).first == "0"
        }
        #expect(process.isRunning)
        process.send(SIGKILL)
    }
}
