import Glibc
import Posix
import TestSupport
import Testing

@Suite("A mount without free descriptors")
struct DescriptorTests {
    @Test("a command waits and is served later")
    func control() async throws {
        let stage = try await CopyStage.start()
        let daemon = try await stage.mount("alice")
        let limits = try await Shell.run(
            "prlimit", ["--pid", String(daemon.processIdentifier), "--nofile=3:4096"])
        #expect(limits.succeeded, "\(limits.errors)")
        let letter = try stage.folder.write(sample(1_000), to: "letter.bin")
        let command = try await ChatFSProcess.start(
            ["send", letter, "bob", "--profile", "alice", "--data", stage.folder.path("data")])
        let before = try Self.ticks(of: daemon.processIdentifier)
        // Measures two seconds of the daemon.
        try await Task.sleep(for: .seconds(2))
        // Out of 200 hundredths of a second for a busy loop. On a loaded machine the daemon gets less, so the test
        // cannot fail wrongly.
        #expect(try Self.ticks(of: daemon.processIdentifier) - before < 60)
        #expect(command.isRunning)
        let raised = try await Shell.run(
            "prlimit", ["--pid", String(daemon.processIdentifier), "--nofile=4096:4096"])
        #expect(raised.succeeded, "\(raised.errors)")
        #expect(try await command.ending() == .code(0), "\(command.errors)")
        #expect(try await daemon.terminate() == .code(0))
    }

    /// Processor time in hundredths of a second (proc(5): utime and stime).
    private static func ticks(of process: pid_t) throws -> Int {
        let text = try OpenFile("/proc/\(process)/stat", flags: O_RDONLY).read(count: 4096, at: 0)
        let fields = String(decoding: text, as: UTF8.self).split(separator: ")").last?.split(separator: " ")
        guard let fields, fields.count > 12, let user = Int(fields[11]), let system = Int(fields[12]) else {
            throw WaitedInVain("no processor time of \(process)")
        }
        return user + system
    }
}
