import Base
import FoundationEssentials
import TestSupport
import Testing

@testable import chatfs_bench

@Suite("Forms of the report")
struct ReportTests {
    static let report: Report = {
        var report = Report(date: "2026-01-02", machine: [("Kernel", "6 \"odd\"")], isQuick: false)
        report.rows = [
            Row(
                "cold-read", "cold <read> & more", .megabytesPerSecond, [310, 290, 300.4],
                beside: Reference("rclone mount", [150, 151, 140]), target: .ratioAtLeast(1)),
            Row("memory", "memory", .mebibytes, [61], target: .atMost(50)),
            Row("copy-in", "without a target", .megabytesPerSecond, [100, 200]),
        ]
        report.gaps = [Report.Gap(measure: "official", reason: "It is not here.")]
        return report
    }()

    @Test("Markdown has a line for each row and each gap")
    func markdown() {
        let lines = Self.report.markdown.split(separator: "\n").map(String.init)
        #expect(lines.contains("* Kernel: 6 \"odd\""))
        #expect(
            lines.contains(
                "| cold <read> & more | 300 MB/s | 290–310 | rclone mount: 150 | 2.00 × | ≥ 1 × | met |"))
        #expect(lines.contains("| memory | 61.0 MiB |  |  |  | ≤ 50 MiB | **missed** |"))
        #expect(lines.contains("| without a target | 150 MB/s | 100–200 |  |  |  |  |"))
        #expect(lines.contains("* official: It is not here."))
    }

    private struct Decoded: Decodable {
        struct Row: Decodable {
            var measure: String
            var value: Double
            var unit: String
            var reference: String?
            var referenceValue: Double?
            var ratio: Double?
            var target: String?
            var met: Bool?
            var samples: [Double]
        }
        var date: String
        var quick: Bool
        var machine: [String: String]
        var rows: [Row]
        var notMeasured: [[String: String]]
    }

    @Test("JSON has all fields, null if empty")
    func json() throws {
        let text = Self.report.json
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let decoded = try decoder.decode(Decoded.self, from: Data(text.utf8))
        #expect(decoded.machine == ["Kernel": "6 \"odd\""])
        #expect(decoded.rows.map(\.measure) == ["cold-read", "memory", "copy-in"])
        let first = try #require(decoded.rows.first)
        #expect(first.value == 300.4)
        #expect(first.unit == "MB/s")
        #expect(first.reference == "rclone mount")
        #expect(first.referenceValue == 150)
        #expect(first.ratio == 300.4 / 150)
        #expect(first.target == "≥ 1 ×")
        #expect(first.met == true)
        #expect(decoded.rows[1].met == false)
        #expect(decoded.rows[2].samples == [100, 200])
        #expect(decoded.notMeasured == [["measure": "official", "reason": "It is not here."]])
        // A missing field differs from null for readers.
        for key in ["reference", "reference_value", "ratio", "target", "met"] {
            #expect(text.contains("\"\(key)\" : null"))
        }
    }

    @Test("the picture is self-contained XML with a bar per target")
    func picture() async throws {
        let folder = try TemporaryFolder()
        let svg = Picture.svg(of: Self.report)
        let path = try folder.write(Array(svg.utf8), to: "figures.svg")
        let outcome = try await Shell.run(
            "/usr/bin/env",
            ["python3", "-c", "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])", path])
        #expect(outcome.succeeded, "\(outcome.errors)")
        #expect(svg.split(separator: "<rect class=\"met\"").count == 2)
        #expect(svg.split(separator: "<rect class=\"missed\"").count == 2)
        #expect(svg.contains("cold &lt;read&gt; &amp; more, beside rclone mount"))
        #expect(!svg.contains("without a target"))
        #expect(svg.contains("prefers-color-scheme: dark"))
        #expect(svg.split(separator: "http").count == 2, "the name of the format, which nobody fetches")
    }

    @Test("a bar at its target ends in the middle")
    func lengths() {
        #expect(Picture.share(1) == 0.5)
        #expect(Picture.share(10) == 1)
        #expect(Picture.share(.infinity) == 1)
        #expect(Picture.share(0) == 0.01)
        #expect(Picture.share(0.1) == 0.01)
        #expect(Picture.share(2) > Picture.share(1.5))
    }

    @Test(
        "figures have three significant digits",
        arguments: [
            (0.0, "0"), (0.01234, "0.0123"), (1.234, "1.23"), (12.34, "12.3"), (123.4, "123"),
            (12_345, "12345"),
            (-1.5, "-1.50"), (.infinity, "0"),
        ])
    func numbers(value: Double, text: String) {
        #expect(FigureText.number(value) == text)
    }

    @Test(
        "bounds are written as in targets",
        arguments: [
            (0.95, "0.95"), (1.2, "1.2"), (300, "300"), (0, "0"),
        ])
    func boundTexts(value: Double, text: String) {
        #expect(FigureText.bound(value) == text)
    }
}
