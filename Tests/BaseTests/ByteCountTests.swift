import Base
import Testing

@Suite struct ByteCountTests {
    @Test(
        arguments: [
            ("64kb", 65_536), ("4mb", 4_194_304), ("10GB", 10_737_418_240), ("65536", 65_536), ("12b", 12),
        ] as [(String, UInt64)])
    func sizesOfTheCommandLineAreRead(text: String, bytes: UInt64) {
        #expect(ByteCount.parse(text) == bytes)
    }

    @Test(arguments: ["", "kb", "-1", "+1", "1.5gb", "1 kb", "0x10", "99999999999gb", "١kb"])
    func anythingElseIsRefused(text: String) {
        #expect(ByteCount.parse(text) == nil)
    }

    @Test func descriptionsUseTheLargestExactUnit() {
        #expect(ByteCount.exact(65_536) == "64kb")
        #expect(ByteCount.exact(5_242_880) == "5mb")
        #expect(ByteCount.exact(65_537) == "65537")
        #expect(ByteCount.exact(1 << 30) == "1gb")
        #expect(ByteCount.exact(0) == "0")
    }

    @Test(
        arguments: [(999, "999 B"), (1000, "1.0 kB"), (1_450_000, "1.5 MB"), (123_456_789, "123 MB")]
            as [(UInt64, String)])
    func peopleReadDecimalSizes(bytes: UInt64, text: String) {
        #expect(ByteCount.rounded(bytes) == text)
    }

    @Test(
        arguments: [
            (0, "0 B"), (1, "1 B"), (1049, "1.0 kB"), (1050, "1.1 kB"), (99_949, "99.9 kB"),
            (99_950, "100 kB"), (100_499, "100 kB"), (100_500, "101 kB"), (999_499, "999 kB"),
            (999_500, "1.0 MB"), (999_999, "1.0 MB"), (1_000_000, "1.0 MB"), (999_499_999, "999 MB"),
            (999_500_000, "1.0 GB"), (999_999_999_999, "1.0 TB"), (UInt64.max, "18446744 TB"),
        ] as [(UInt64, String)])
    func aSizeIsRoundedToTheNearestInTheUnitThatItThenHas(bytes: UInt64, text: String) {
        #expect(ByteCount.rounded(bytes) == text)
    }

    @Test func tooLargeSizesAreRefused() {
        #expect(ByteCount.parse("18446744073709551615") == .max)
        #expect(ByteCount.parse("18446744073709551616") == nil)
        #expect(ByteCount.parse("17179869183gb") == 17_179_869_183 << 30)
        #expect(ByteCount.parse("17179869184gb") == nil)
        #expect(ByteCount.parse("18014398509481984kb") == nil)
        #expect(ByteCount.parse("0gb") == 0)
    }

    @Test(arguments: [1023, 1024, 1025, 1 << 20, (1 << 20) - 1, 3 << 30, .max] as [UInt64])
    func anExactSizeIsReadAsTheSame(bytes: UInt64) {
        #expect(ByteCount.parse(ByteCount.exact(bytes)) == bytes)
    }

    @Test(arguments: ["b", "bb", "1bb", "1kbb", "kb1", " 1kb", "1kb ", "1\u{0}", "1,000"])
    func unitsStandBehindOneNumber(text: String) { #expect(ByteCount.parse(text) == nil) }
}
