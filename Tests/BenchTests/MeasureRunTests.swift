import Base
import CommandLineKit
import Glibc
import Posix
import TestSupport
import Testing

@testable import chatfs_bench

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

    private static func good(_ name: String) -> Measure {
        Measure(name: name, abstract: "") { stage in
            try FileWork.make(stage.plain("file"), size: 100_000, seed: 1)
            _ = try await stage.start("/bin/sleep", ["1000"])
            return [Row(name, name, .milliseconds, [1])]
        }
    }

    private func take(_ measures: [Measure]) async -> Report {
        var report = Report(date: "", machine: [], isQuick: true)
        await run.take(measures, into: &report)
        return report
    }

    private func expectNothingLeft() throws {
        #expect(try PrivateFolder.names(in: OpenFile(folder.path, flags: O_RDONLY)).isEmpty)
    }

    @Test("measures are chosen by name, in the order of the report, and have names of their own")
    func chosen() {
        let all = ["a", "b", "c"].map(Self.good)
        #expect(Measure.chosen(["c", "a", "c"], from: all).map(\.name) == ["a", "c"])
        #expect(Measure.chosen([], from: all).count == 3)
        #expect(Set(Measure.all.map(\.name)).count == Measure.all.count)
    }

    @Test(
        "one that fails leaves a gap with its reason; the others give their rows; no file and no process stays"
    )
    func failing() async throws {
        let broken = Measure(name: "broken", abstract: "") { stage in
            _ = try await stage.start("/bin/sleep", ["1000"])
            throw BenchError(.missing, "It is not here.")
        }
        let report = await take([Self.good("first"), broken, Self.good("last")])
        #expect(report.rows.map(\.name) == ["first", "last"])
        #expect(report.gaps.map(\.measure) == ["broken"])
        #expect(report.gaps.map(\.reason) == ["It is not here."])
        try expectNothingLeft()
    }

    @Test("one that hangs in a process is ended by its limit, and the next is measured")
    func overdue() async throws {
        let hanging = Measure(name: "hanging", abstract: "", limit: .seconds(1)) { stage in
            try await stage.run("/bin/sleep", ["1000"])
            return []
        }
        let report = await take([hanging, Self.good("next")])
        #expect(report.gaps.map(\.reason) == ["It took longer than 1 seconds."])
        #expect(report.rows.map(\.name) == ["next"])
        try expectNothingLeft()
    }

    @Test("a stop request ends the one that waits and leaves out those after it")
    func stopped() async throws {
        let stop = stop
        let waiting = Measure(name: "waiting", abstract: "") { stage in
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

    @Test("a program that ends with an error is named with what it said")
    func complaint() async throws {
        let broken = Measure(name: "broken", abstract: "") { stage in
            try await stage.run("/bin/sh", ["-c", "echo no such relay >&2; exit 3"])
            return []
        }
        let report = await take([broken])
        #expect(report.gaps.first?.reason == "sh -c did not work: no such relay")
    }

    @Test(
        "what a mount says of itself is read by name",
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
