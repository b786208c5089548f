import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Metrics

@Suite("The metrics file")
struct MetricsFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func file(_ name: String, every interval: Duration, _ value: Lock<UInt64>) -> MetricsFile {
        MetricsFile(folder.path(name), every: interval) {
            [MetricFamily("a", .gauge, "A.", [MetricFamily.Sample(value.withLock { $0 })])]
        }
    }

    private func value(_ name: String) throws -> Double? {
        try OpenMetricsDocument(String(decoding: try folder.read(name), as: UTF8.self)).values["a"]
    }

    @Test("a private file replaces the previous one")
    func replacing() async throws {
        let outside = try folder.write([7], to: "outside")
        symlink(outside, folder.path("metrics"))
        try await file("metrics", every: .seconds(60), Lock(3)).write()
        #expect(try value("metrics") == 3)
        #expect(try OpenFile(folder.path("metrics"), flags: O_RDONLY).status().st_mode & 0o777 == 0o600)
        #expect(try folder.read("outside") == [7], "a link is replaced, not followed")
        #expect(try folder.names() == ["metrics", "outside"])
    }

    @Test("the file follows the values and keeps the last")
    func following() async throws {
        let number = Lock<UInt64>(1)
        let file = file("metrics", every: .milliseconds(20), number)
        file.begin()
        try await wait(until: "it is written") { (try? value("metrics")) == 1 }
        number.withLock { $0 = 2 }
        try await wait(until: "it is written again") { try value("metrics") == 2 }
        number.withLock { $0 = 3 }
        await file.stop()
        #expect(try value("metrics") == 3)
        number.withLock { $0 = 4 }
        try await Task.sleep(for: .milliseconds(100))
        #expect(try value("metrics") == 3)
    }

    @Test("a missing folder is an error and leaves nothing")
    func missingFolder() async throws {
        await #expect(throws: SystemError(code: ENOENT, operation: "open a file")) {
            try await file("none/metrics", every: .seconds(60), Lock(1)).write()
        }
        _ = try folder.makeFolder("taken")
        await #expect(throws: SystemError(code: EISDIR, operation: "replace the metrics file")) {
            try await file("taken", every: .seconds(60), Lock(1)).write()
        }
        #expect(try folder.names() == ["taken"])
    }
}
