import Glibc
import TestSupport
import Testing
import XFTP

/// Clients that begin a thousand uploads and finish none.
@Suite struct StallingTests {
    /// Returns the peak memory of the process in kilobytes.
    private func peakMemory(of process: RunningProcess) async throws -> Int {
        let line = try await Shell.script(
            "grep VmHWM /proc/\(process.processIdentifier)/status", folder: "/")
        return Int(line.output.split(separator: " ").dropLast().last ?? "") ?? .max
    }

    @Test func stalledUploadsCostLittleMemory() async throws {
        let folder = try TemporaryFolder()
        let process = try await ChatFSProcess.start(["relay", "--dir", folder.path("relay")])
        guard let address = RelayAddress(try await process.line("its address")) else {
            throw WaitedInVain("no address")
        }
        let honest = try await RelayTalk(address)
        var before = TestChunk(size: 1_048_576)
        try await before.create(on: honest)
        #expect(try await before.put(on: honest) == .ok)
        let usual = try await peakMemory(of: process)

        var stalled = TestChunk(size: 1_048_576)
        try await stalled.create(on: honest)
        var clients: [StallingClient] = []
        for _ in 0..<24 {
            let client = try StallingClient(address)
            try client.beginUploads(100, of: stalled, bytes: Array(stalled.bytes[..<48_000]))
            clients.append(client)
        }
        try await wait(until: "the relay has accepted its maximum") {
            try folder.names(in: "relay/incoming").count == 24 * 16
        }
        var after = TestChunk(size: 1_048_576)
        try await after.create(on: honest)
        #expect(try await after.put(on: honest) == .ok)
        #expect(try await after.get(on: honest) == .success(after.bytes))
        #expect(try await before.get(on: honest) == .success(before.bytes))
        let growth = try await peakMemory(of: process) - usual
        // Buffering the sent bytes would take more than 110 MB.
        #expect(growth < 48 << 10, "\(growth) KiB for 24 × 100 uploads")
        // Sixteen on each connection; the others were told to retry.
        #expect(try folder.names(in: "relay/incoming").count == 24 * 16)
        withExtendedLifetime(clients) {}
        try await process.terminate()
        #expect(try folder.names(in: "relay/incoming").isEmpty)
    }
}
