import CommandLineKit
import Testing

@testable import chatfs_bench

@Suite("What can be measured")
struct MeasureTableTests {
    private static let table = MeasureTable.all

    @Test("the order of the report is that of the documentation, and names are words")
    func names() {
        #expect(
            Self.table.names == [
                "cold", "middle", "upload", "transfers", "rclone", "official", "hydrated", "warm", "small",
                "list",
                "history", "sealed", "official-history", "described", "far", "messages", "pair", "contacts",
                "arrival", "attack",
            ])
        for name in Self.table.names {
            #expect(name.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "-") }, "\(name)")
        }
    }

    @Test("the help has a paragraph for each, which is a sentence")
    func help() {
        let paragraphs = Self.table.help.split(separator: "\n\n").map(String.init)
        #expect(paragraphs.count == Self.table.names.count)
        for (name, paragraph) in zip(Self.table.names, paragraphs) {
            #expect(paragraph.hasPrefix("\(name): ") && paragraph.hasSuffix("."), "\(paragraph)")
            #expect(!paragraph.hasSuffix("..") && !paragraph.contains("\n"))
        }
        #expect(BenchProgram.program.discussion.hasSuffix(Self.table.help))
    }

    @Test("each is given up after four minutes at the earliest and an hour at the latest")
    func limits() {
        for measure in Self.table.chosen([]) {
            #expect((.seconds(240) ... .seconds(3600)).contains(measure.limit), "\(measure.name)")
        }
        #expect(UploadMeasure().limit == .seconds(240))
        #expect(ContactsMeasure().limit == .seconds(3600))
    }

    @Test("two of one name end the program before anybody is misled")
    func twice() async {
        await #expect(processExitsWith: .failure) {
            _ = MeasureTable([UploadMeasure(), ColdMeasure(), UploadMeasure()])
        }
    }
}
