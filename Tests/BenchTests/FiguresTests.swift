import Testing

@testable import chatfs_bench

/// Rows from given figures, without measuring.
@Suite("Rows of the measures")
struct FiguresTests {
    private static func reading(_ first: Double, _ whole: Double) -> FileWork.Reading {
        FileWork.Reading(first: first, whole: whole, sum: 7)
    }

    @Test("figures of alternating subjects stay separate")
    func samples() {
        var table = SampleTable(subjects: 3)
        for (subject, figure) in [(0, 1.0), (2, 9), (1, 5), (0, 2), (2, 8)] { table.add(figure, of: subject) }
        #expect(table[0] == [1, 2] && table[1] == [5] && table[2] == [9, 8])
    }

    @Test("wrong bytes give no figure")
    func sums() throws {
        try Self.reading(1, 1).requireSum(7)
        let error = #expect(throws: BenchError.self) { try Self.reading(1, 1).requireSum(8) }
        #expect(error?.code == .wrong)
    }

    @Test("rows of a cold file with units and references")
    func cold() {
        var figures = ColdFigures(size: 64 << 20)
        figures.add(Self.reading(0.002, 0.25), primitives: 1.5)
        let rows = figures.rows(sender: 48 * 1_048_576, relay: 24 * 1_048_576)
        #expect(
            rows.map(\.name) == [
                "first-byte", "cold-read", "memory", "receiver-memory", "sender-memory", "relay-memory",
                "cpu",
            ])
        #expect(rows.map(\.title).filter { $0.contains("64 MiB") }.count == 4)
        #expect(rows[0].reference?.name == "plain filesystem" && rows[0].reference?.value == 2)
        #expect(rows[1].reference?.value == Double(64 << 20) / 1e6 / 0.25)
        #expect(rows[4].value == 48 && rows[5].value == 24)
        #expect(rows[6].reference?.name == Primitives.name && rows[6].reference?.value == 1.5)
        #expect(rows[6].target == .ratioAtMost(1.5) && rows[0].target == .atMost(25))
        #expect(rows.allSatisfy { $0.target != nil })
    }

    @Test("rows of warm work beside the passthrough filesystem")
    func warm() {
        var figures = WarmFigures(size: 256 << 20, names: 1000)
        for subject in 0..<2 {
            let base = Double(subject + 1)
            figures.add(
                .init(reread: base, random: 10 * base, stat: 100 * base), of: subject,
                requests: subject == 0 ? 4 : nil)
        }
        let rows = figures.rows
        #expect(rows.map(\.name) == ["reread", "stat", "random", "warm-requests"])
        #expect(rows.dropLast().map(\.value) == [1, 100, 10])
        #expect(rows.dropLast().compactMap(\.reference?.value) == [2, 200, 20])
        #expect(rows.dropLast().allSatisfy { $0.reference?.name == Passthrough.name })
        #expect(rows[0].title == "warm re-read of 256 MiB" && rows[1].title == "cached stat, 1000 entries")
        #expect(rows.dropLast().allSatisfy { $0.target == .asReference })
        #expect(rows[3].samples == [4] && rows[3].isMet == false)
    }

    @Test("rows beside the official programs")
    func official() {
        var figures = OfficialFigures(size: 16 << 20)
        let bytes = Double(16 << 20) / 1e6
        figures.ours.add((send: 0.1, receive: 0.05), 16 << 20)
        figures.theirs.add((send: 2, receive: 1), 16 << 20)
        figures.theirsHurried.add((send: 1, receive: 0.5), 16 << 20)
        figures.throughTheirs.add((send: 0.2, receive: 0.1), 16 << 20)
        let rows = figures.rows
        #expect(
            rows.map(\.name) == [
                "cold-read", "cold-read", "upload", "upload", "cold-read-official-relay",
                "upload-official-relay",
            ])
        #expect(rows[0].value == bytes / 0.05 && rows[2].value == bytes / 0.1)
        #expect(rows.map(\.target) == [5, 12, 5, 12, 4, 4].map { Target.ratioAtLeast($0) })
        #expect(rows.map { ($0.ratio ?? 0).rounded() } == [10, 20, 10, 20, 10, 10])
        #expect(rows.allSatisfy { $0.isMet == true && $0.title.contains("16 MiB") })
    }
}
