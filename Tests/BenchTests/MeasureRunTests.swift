import Base
import CommandLineKit
import Glibc
import Posix
import TestSupport
import Testing

@testable import chatfs_bench

/// Runs a test's closure.
private struct GivenMeasure: Measure {
    let name: String
    let abstract = "for a test"
    var limit = Duration.seconds(60)
    let work: @Sendable (Stage) async throws -> [Row]

    func take(on stage: Stage) async throws -> [Row] { try await work(stage) }
}

@Suite("A run of several measures")
struct MeasureRunTests {
    private let folder: TemporaryFolder
    private let stop = StopRequest()
    private let run: MeasureRun

    init() throws {
        folder = try TemporaryFolder()
        let plan = Plan(folder: folder.path, isQuick: true, repetitions: 3, official: nil)
        run = MeasureRun(plan: plan, stop: stop)
    }

    private static func good(_ name: String) -> any Measure {
        GivenMeasure(name: name) { stage in
            try FileWork.make(stage.plain("file"), size: 100_000, seed: 1)
            _ = try await stage.start("/bin/sleep", ["1000"])
            return [Row(name, name, .milliseconds, [1])]
        }
    }

    private func take(_ measures: [any Measure]) async -> Report {
        var report = Report(date: "", machine: [], isQuick: true)
        await run.take(measures, into: &report)
        return report
    }

    private func expectNothingLeft() throws {
        #expect(try PrivateFolder.names(in: OpenFile(folder.path, flags: O_RDONLY)).isEmpty)
    }

    @Test("measures are chosen by unique names")
    func chosen() {
        let table = MeasureTable(["a", "b", "c"].map(Self.good))
        #expect(table.chosen(["c", "a", "c"]).map(\.name) == ["a", "c"])
        #expect(table.chosen([]).count == 3)
        #expect(table.chosen(["d"]).isEmpty)
        #expect(table.names == ["a", "b", "c"])
    }

    @Test(
        "a failed measure leaves only a gap"
    )
    func failing() async throws {
        let broken = GivenMeasure(name: "broken") { stage in
            _ = try await stage.start("/bin/sleep", ["1000"])
            throw BenchError(.missing, "It is not here.")
        }
        let report = await take([Self.good("first"), broken, Self.good("last")])
        #expect(report.rows.map(\.name) == ["first", "last"])
        #expect(report.gaps.map(\.measure) == ["broken"])
        #expect(report.gaps.map(\.reason) == ["It is not here."])
        try expectNothingLeft()
    }

    @Test("a hanging measure ends at its limit")
    func overdue() async throws {
        let hanging = GivenMeasure(name: "hanging", limit: .seconds(1)) { stage in
            try await stage.run("/bin/sleep", ["1000"])
            return []
        }
        let report = await take([hanging, Self.good("next")])
        #expect(report.gaps.map(\.reason) == ["It took longer than 1 seconds."])
        #expect(report.rows.map(\.name) == ["next"])
        try expectNothingLeft()
    }

    @Test("a stop request skips the rest")
    func stopped() async throws {
        let stop = stop
        let waiting = GivenMeasure(name: "waiting") { stage in
            stop.request()
            try await stage.wait(for: "nothing") { false }
            return []
        }
        let report = await take([Self.good("first"), waiting, Self.good("last")])
        #expect(report.rows.map(\.name) == ["first"])
        #expect(report.gaps.map(\.measure) == ["waiting", "last"])
        #expect(report.gaps.allSatisfy { $0.reason == "The run was stopped." })
        try expectNothingLeft()
    }

    @Test("errors quote the failed program")
    func complaint() async throws {
        let broken = GivenMeasure(name: "broken") { stage in
            try await stage.run("/bin/sh", ["-c", "echo no such relay >&2; exit 3"])
            return []
        }
        let report = await take([broken])
        #expect(report.gaps.first?.reason == "sh -c did not work: no such relay")
    }

    @Test(
        "a mount's counters are read by name",
        arguments: [
            ("{\n  \"cachedBytes\" : 12582912,\n  \"requests\" : 7\n}", "cachedBytes", 12_582_912 as Int?),
            ("{\n  \"cachedBytes\" : 12582912,\n  \"requests\" : 7\n}", "requests", 7),
            ("{\"other\":1}", "requests", nil), ("{\"requests\" : \"x\"}", "requests", nil),
            ("", "requests", nil),
        ])
    func counters(text: String, key: String, number: Int?) {
        #expect(MountCounters.number(key, in: text) == number)
    }
}
