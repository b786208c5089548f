import Base
import Glibc
import Posix
import Testing

@testable import CommandLineKit

@Suite("Progress display")
struct ProgressTests {
    @Test("a bar fits the terminal's width", arguments: [40, 60, 80, 200])
    func bar(width: Int) {
        for done in stride(from: UInt64(0), through: 5_000_000, by: 500_000) {
            let line = ProgressDisplay.line(
                "Sending", done: done, total: 5_000_000, elapsed: .seconds(2), width: width)
            #expect(line.count < width)
        }
    }

    @Test("implausible numbers are shown", arguments: [nil, 40, 200])
    func vast(width: Int?) {
        for (done, total) in [(UInt64.max, UInt64.max), (.max, 1), (1, .max), (.max / 2, .max), (.max, 0)] {
            for elapsed in [Duration.zero, .milliseconds(100), .seconds(1 << 40)] {
                let line = ProgressDisplay.line(
                    "Sending", done: done, total: total, elapsed: elapsed, width: width)
                #expect(line.hasPrefix("Sending") && line.contains("%"))
            }
            let display = ProgressDisplay("Sending", descriptor: -1, verbosity: .debug)
            display.update(done: done, total: total)
            display.finish()
        }
    }

    @Test("a plain line shows part and total")
    func plain() {
        let line = ProgressDisplay.line(
            "Sending", done: 2_000_000, total: 4_000_000, elapsed: .seconds(2), width: nil)
        #expect(line == "Sending: 50%, 2.0 MB of 4.0 MB, 1.0 MB/s")
        let empty = ProgressDisplay.line("Sending", done: 0, total: 0, elapsed: .zero, width: nil)
        #expect(empty == "Sending: 100%, 0 B of 0 B")
    }

    @Test(
        "pipes get lines only with --verbose",
        arguments: [(Verbosity.normal, 0), (.verbose, 11)])
    func pipe(verbosity: Verbosity, count expected: Int) throws {
        var ends: [Int32] = [0, 0]
        try check("make a pipe") { Glibc.pipe(&ends) }
        defer { for end in ends { close(end) } }
        let display = ProgressDisplay("Sending", descriptor: ends[1], verbosity: verbosity)
        for done in UInt64(0)...1000 { display.update(done: done, total: 1000) }
        display.finish()
        try check("write the end") { write(ends[1], "\n", 1) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(ends[0], &buffer, buffer.count)
        let lines = String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n")
        #expect(lines.count == expected)
        guard expected > 0 else { return }
        #expect(lines.first?.hasPrefix("Sending: 0%, ") == true)
        #expect(lines.last?.hasPrefix("Sending: 100%, 1.0 kB of 1.0 kB") == true)
    }

    @Test("every waiting task gets the first stop")
    func stop() async {
        let stop = StopRequest()
        #expect(!stop.isRequested)
        async let first = stop.wait()
        async let second = stop.wait()
        stop.request(signal: SIGTERM)
        stop.request(signal: SIGINT)
        #expect(await [first, second] == [SIGTERM, SIGTERM])
        #expect(await stop.wait() == SIGTERM)
        #expect(stop.isRequested)
    }
}
