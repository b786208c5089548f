import TestSupport
import Testing

@testable import SMP

/// The parts of links.
@Suite struct LinkPartsTests {
    @Test func aLinkIsSplitAtHashAndQuestionMark() throws {
        let parts = try #require(LinkParts("simplex:/invitation/#/path?a=1&b=%20x&a=2&c="))
        #expect(parts.place == "simplex:/invitation" && parts.path == "path")
        #expect(parts["a"] == "1", "the first counts")
        #expect(parts["b"] == " x" && parts["c"] == "" && parts["d"] == nil)
        let bare = try #require(LinkParts("x#"))
        #expect(bare.place == "x" && bare.path.isEmpty && bare["a"] == nil)
        #expect(try #require(LinkParts("#?")).place.isEmpty)
        #expect(LinkParts("no hash?a=1") == nil && LinkParts("") == nil)
        #expect(try #require(LinkParts("a#b#c?x=1#2"))["x"] == "1#2")
    }

    @Test(arguments: ["x#?a", "x#?a=1&b", "x#?%=1", "x#?a=%zz"]) func aParameterWithoutAValueIsRefused(
        text: String
    ) {
        #expect(LinkParts(text) == nil)
    }

    @Test func aLinkHasAtMostSixteenParameters() {
        func link(_ count: Int) -> String {
            "x#?" + (0..<count).map { "p\($0)=\($0)" }.joined(separator: "&")
        }
        #expect(LinkParts(link(16))?["p15"] == "15")
        #expect(LinkParts(link(17)) == nil)
        // Any number of repetitions of one name.
        #expect(LinkParts("x#?" + String(repeating: "a=1&", count: 500))?["a"] == "1")
    }

    @Test(
        arguments: [
            ("1-4", 1...4), ("7", 7...7), ("0-65535", 0...65535), ("4-4", 4...4),
        ] as [(String, ClosedRange<UInt16>)])
    func versionRangesSurviveARoundTrip(text: String, versions: ClosedRange<UInt16>) {
        #expect(ClosedRange<UInt16>(text: text) == versions)
        #expect(ClosedRange<UInt16>(text: versions.text) == versions)
    }

    @Test(arguments: ["", "-", "1-", "-1", "4-1", "1-2-3", "65536", "+1", "1 -2", "a", "٣", "1--2"])
    func malformedVersionRangesAreRefused(text: String) {
        #expect(ClosedRange<UInt16>(text: text) == nil)
    }

    @Test func theHighestCommonVersionIsUsed() {
        let table: [(ClosedRange<UInt16>, ClosedRange<UInt16>, UInt16?)] = [
            (1...4, 1...4, 4), (1...4, 4...9, 4), (1...4, 5...9, nil), (3...3, 1...4, 3), (5...9, 1...4, nil),
            (2...7, 6...6, 6),
        ]
        for (one, other, agreed) in table {
            #expect(SMPVersion.agreed(one, other) == agreed && SMPVersion.agreed(other, one) == agreed)
        }
    }
}
