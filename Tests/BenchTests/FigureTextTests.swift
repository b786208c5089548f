import Testing

@testable import chatfs_bench

@Suite("Rounding of figures")
struct FigureTextTests {
    @Test(
        "three digits, also after a carry",
        arguments: [
            (9.994, "9.99"), (9.996, "10.0"), (99.94, "99.9"), (99.96, "100"), (999.4, "999"),
            (999.6, "1000"),
            (0.9994, "0.999"), (0.9996, "1.00"), (0.09996, "0.100"), (1, "1.00"), (10, "10.0"), (100, "100"),
            (0.1, "0.100"), (0.001234, "0.00123"), (0.000_001_4, "0.000001"), (0.000_000_1, "0.000000"),
            (-9.996, "-10.0"), (-0.0123, "-0.0123"), (1e9, "1000000000"), (.nan, "0"),
        ])
    func numbers(value: Double, text: String) { #expect(FigureText.number(value) == text) }

    @Test(
        "the requested decimals with zeros",
        arguments: [
            (0.0, 0, "0"), (0, 2, "0.00"), (0.005, 2, "0.01"), (0.004, 2, "0.00"), (-0.5, 0, "-1"),
            (-0.04, 1, "0.0"), (-0.06, 1, "-0.1"), (1.999, 2, "2.00"), (12, 3, "12.000"), (0.125, 3, "0.125"),
        ])
    func fixed(value: Double, decimals: Int, text: String) {
        #expect(FigureText.fixed(value, decimals: decimals) == text)
    }

    @Test(
        "a bound has no trailing zeros",
        arguments: [(1.0, "1"), (1.5, "1.5"), (1.25, "1.25"), (100, "100"), (0.1, "0.1"), (10.10, "10.1")])
    func bounds(value: Double, text: String) { #expect(FigureText.bound(value) == text) }

    @Test("only rates improve upwards")
    func units() {
        let units: [(Unit, Bool)] = [
            (.megabytesPerSecond, true), (.perSecond, true), (.milliseconds, false), (.microseconds, false),
            (.seconds, false), (.secondsPerGibibyte, false), (.mebibytes, false), (.chunks, false),
            (.requests, false),
        ]
        for (unit, isRate) in units { #expect(unit.isRate == isRate && !unit.rawValue.isEmpty) }
        #expect(Set(units.map(\.0.rawValue)).count == units.count)
        #expect(Target.atMost(25).text(.milliseconds) == "≤ 25 ms")
        #expect(Target.atLeast(0.5).text(.perSecond) == "≥ 0.5 /s")
        #expect(Target.ratioAtMost(1.2).text(.seconds) == "≤ 1.2 ×")
        #expect(Target.ratioAtLeast(5).text(.seconds) == "≥ 5 ×")
        #expect(Target.asReference.text(.seconds) == "within noise")
    }

    @Test("titles are escaped in the picture")
    func escaped() {
        #expect(Picture.escaped("<a href=\"x\">&</a>") == "&lt;a href=&quot;x&quot;&gt;&amp;&lt;/a&gt;")
        #expect(Picture.share(-1) == 0.01 && Picture.share(100) == 1 && Picture.share(.nan) == 0.01)
    }
}
