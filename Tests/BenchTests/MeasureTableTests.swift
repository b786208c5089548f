import CommandLineKit
import Testing

@testable import chatfs_bench

@Suite("The table of measures")
struct MeasureTableTests {
    private static let table = MeasureTable.all

    @Test("names are words in the order of the report")
    func names() {
        #expect(
            Self.table.names == [
                "cold", "middle", "transfers", "rclone", "official", "hydrated", "warm", "small",
                "list",
                "history", "sealed", "official-history", "phone", "described", "far", "contacts", "arrival",
                "attack",
            ])
        for name in Self.table.names {
            #expect(name.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "-") }, "\(name)")
        }
    }

    @Test("the help has a sentence for each measure")
    func help() {
        let paragraphs = Self.table.help.split(separator: "\n\n").map(String.init)
        #expect(paragraphs.count == Self.table.names.count)
        for (name, paragraph) in zip(Self.table.names, paragraphs) {
            #expect(paragraph.hasPrefix("\(name): ") && paragraph.hasSuffix("."), "\(paragraph)")
            #expect(!paragraph.hasSuffix("..") && !paragraph.contains("\n"))
        }
        #expect(BenchProgram.program.discussion.hasSuffix(Self.table.help))
    }

    @Test("limits are four minutes to an hour")
    func limits() {
        for measure in Self.table.chosen([]) {
            #expect((.seconds(240) ... .seconds(3600)).contains(measure.limit), "\(measure.name)")
        }
        #expect(MiddleMeasure().limit == .seconds(240))
        #expect(ContactsMeasure().limit == .seconds(3600))
    }

    @Test("duplicate names trap")
    func twice() async {
        await #expect(processExitsWith: .failure) {
            _ = MeasureTable([MiddleMeasure(), ColdMeasure(), MiddleMeasure()])
        }
    }
}
