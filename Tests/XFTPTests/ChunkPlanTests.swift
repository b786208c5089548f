import TestSupport
import Testing

@testable import XFTP

@Suite struct ChunkPlanTests {
    private static let k64 = UInt32(65_536)
    private static let k256 = UInt32(262_144)
    private static let m1 = UInt32(1_048_576)
    private static let m4 = UInt32(4_194_304)

    @Test(
        arguments: [
            (25, [k64]), (65_536, [k64]), (65_537, [k64, k64]), (196_608, [k64, k64, k64]),
            (196_609, [k256]), (262_145, [k256, k64]), (786_432, [k256, k256, k256]), (786_433, [m1]),
            (1_048_577, [m1, k256]), (3_145_728, [m1, m1, m1]), (3_145_729, [m4]),
            (7_340_033, [m4, m4]), (8_388_609, [m4, m4, m1]),
            (104_857_600, [UInt32](repeating: m4, count: 25)),
        ] as [(UInt64, [UInt32])])
    func chunkSizesMatchTheOfficialProgram(total: UInt64, sizes: [UInt32]) {
        #expect(ChunkPlan.sizes(for: total - ChunkPlan.overhead) == sizes)
    }

    @Test func redirectUsesSmallestSufficientChunk() {
        #expect(ChunkPlan.singleSize(for: 65_512) == Self.k64)
        #expect(ChunkPlan.singleSize(for: 65_513) == Self.k256)
        #expect(ChunkPlan.singleSize(for: 4_194_280) == Self.m4)
        #expect(ChunkPlan.singleSize(for: 4_194_281) == nil)
    }

    @Test func officialFilesFitTheirDescriptions() {
        var generator = SeededGenerator(state: 8)
        let edges =
            [65_536, 196_608, 262_144, 786_432, 1_048_576, 3_145_728, 4_194_304, 8_388_608] as [UInt64]
        let near = edges.flatMap { edge in (0...600).map { edge - min(edge, 300) + $0 } }
        let random = (0..<2_000).map { _ in UInt64.random(in: 0...1 << 33, using: &generator) }
        for content in [0, 1] + near + random {
            for fields: UInt64 in [2, 7, 257, 513] {
                let size = ChunkPlan.sizes(for: fields + content).reduce(0) { $0 + UInt64($1) }
                #expect(ChunkPlan.fits(streamSize: size, content: content))
            }
        }
    }

    @Test(
        arguments: [
            (0, 0), (25, 0), (65_536, 65_511), (65_536, 65_537), (27 << 30, 1_000), (1_000, 27 << 30),
            (UInt64.max, 0), (0, UInt64.max), (4_194_304 + 24 + 513 + 1, 0),
        ] as [(UInt64, UInt64)])
    func descriptionOfAnotherFileDoesNotFit(streamSize: UInt64, content: UInt64) {
        #expect(!ChunkPlan.fits(streamSize: streamSize, content: content))
    }

    @Test func planHoldsTheFileWithLittlePadding() {
        var generator = SeededGenerator(state: 7)
        for _ in 0..<2_000 {
            let fileSize = UInt64.random(in: 2...20_000_000, using: &generator)
            let sum = ChunkPlan.sizes(for: fileSize).reduce(0) { $0 + UInt64($1) }
            let total = fileSize + ChunkPlan.overhead
            #expect(sum >= total)
            #expect(sum - total <= max(65_536, total / 3 + 4))
        }
    }
}

@Suite struct FileHeaderTests {
    @Test func headerMatchesTheOfficialClient() {
        #expect(
            FileHeader.encode(name: "a.txt", contentSize: 5)
                == Vectors.bytes("000000000000000c" + "05612e74787430"))
    }

    @Test(arguments: [
        "a.txt", "ü.bin", "日本.txt", "🎉.png", "", "Ã¼.txt", String(repeating: "x", count: 255),
    ])
    func namesRoundTrip(name: String) throws {
        let bytes = FileHeader.encode(name: name, contentSize: 1_000)
        let header = try #require(FileHeader(stream: bytes, streamSize: 65_536))
        #expect(header.name == name)
        #expect(header.contentOffset == UInt64(bytes.count))
        #expect(header.contentSize == 1_000)
        #expect(bytes.count <= FileHeader.maxLength)
    }

    @Test func latin1NamesAreWrittenAsLatin1() {
        #expect(
            Array(FileHeader.encode(name: "ü.bin", contentSize: 0)[8...])
                == Vectors.bytes("05fc2e62696e30"))
    }

    @Test func longNamesKeepTheirExtension() throws {
        let name = String(repeating: "ß日", count: 100) + ".tar.gz"
        let bytes = FileHeader.encode(name: name, contentSize: 3)
        let header = try #require(FileHeader(stream: bytes, streamSize: 65_536))
        #expect(header.name.utf8.count <= 255)
        #expect(header.name.hasSuffix(".gz"))
        #expect(header.contentSize == 3)
    }

    @Test func contradictoryLengthsAreRejected() {
        func header(_ length: UInt64) -> FileHeader? {
            var bytes: [UInt8] = []
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(length >> UInt64(shift) & 255))
            }
            return FileHeader(
                stream: bytes + Vectors.bytes("05612e74787430") + [1, 2, 3], streamSize: 65_536)
        }
        #expect(header(65_512) != nil)
        #expect(header(65_513) == nil)
        #expect(header(.max) == nil)
        #expect(header(1 << 63) == nil)
        #expect(header(7)?.contentSize == 0)
        #expect(header(6) == nil)
    }
}
