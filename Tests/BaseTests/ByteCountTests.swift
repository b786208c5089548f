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

    @Test func descriptionsCarryTheLargestExactUnit() {
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
}
