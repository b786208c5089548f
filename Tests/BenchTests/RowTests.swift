import Testing

@testable import chatfs_bench

@Suite("Figures and references")
struct RowTests {
    private static func row(
        _ unit: Unit, _ samples: [Double], beside other: [Double]? = nil, target: Target
    ) -> Row {
        Row("name", "title", unit, samples, beside: other.map { Reference("other", $0) }, target: target)
    }

    @Test("the median of odd and even counts")
    func median() {
        #expect(Row.median([9, 1, 5]) == 5)
        #expect(Row.median([4, 1, 2, 100]) == 3)
        #expect(Row.median([]) == 0)
    }

    @Test("the ratio needs a positive reference")
    func ratio() {
        let row = Row("name", "title", .milliseconds, [10, 2, 3], beside: Reference("other", [6, 1, 90]))
        #expect(row.ratio == 0.5)
        #expect(Row("name", "title", .milliseconds, [1]).ratio == nil)
        #expect(Row("name", "title", .milliseconds, [1], beside: Reference("other", [0])).ratio == nil)
    }

    @Test(
        "a bound includes itself",
        arguments: [
            (Target.atMost(25), 25.0, 1.0), (.atMost(25), 50, 0.5), (.atLeast(300), 300, 1),
            (.atLeast(300), 150, 0.5),
        ])
    func bounds(target: Target, value: Double, reach: Double) {
        let row = Self.row(.milliseconds, [value], target: target)
        #expect(row.reach == reach)
        #expect(row.isMet == (reach >= 1))
    }

    @Test("a target of zero is met by zero only")
    func nothing() {
        #expect(Self.row(.requests, [0], target: .atMost(0)).isMet == true)
        #expect(Self.row(.requests, [1], target: .atMost(0)).isMet == false)
    }

    @Test("an unknown ratio is neither met nor missed")
    func withoutReference() {
        #expect(Self.row(.megabytesPerSecond, [500], target: .ratioAtLeast(2)).isMet == nil)
        #expect(Self.row(.megabytesPerSecond, [500], beside: [250], target: .ratioAtLeast(2)).isMet == true)
        #expect(Self.row(.microseconds, [13], beside: [10], target: .ratioAtMost(1.2)).isMet == false)
    }

    @Test("noise is the reference's spread or 15 %")
    func noise() {
        #expect(Self.row(.perSecond, [86], beside: [100, 100, 100], target: .asReference).isMet == true)
        #expect(Self.row(.perSecond, [84], beside: [100, 100, 100], target: .asReference).isMet == false)
        #expect(Self.row(.perSecond, [60], beside: [100, 59, 120], target: .asReference).isMet == true)
        #expect(Self.row(.microseconds, [150], beside: [100, 151, 90], target: .asReference).isMet == true)
        #expect(Self.row(.microseconds, [120], beside: [100, 100, 100], target: .asReference).isMet == false)
        #expect(Self.row(.perSecond, [500], beside: [100, 100, 100], target: .asReference).isMet == true)
    }
}
