import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Cryptography

/// Reads return the written bytes or fail.
@Suite struct BlockTagsTests {
    private let folder: TemporaryFolder
    private let file: OpenFile
    private static let size = 4 * BlockTags.blockSize

    init() throws {
        folder = try TemporaryFolder()
        file = try OpenFile(folder.path("file"), flags: O_RDWR | O_CREAT)
    }

    /// Writes bytes and returns their tags.
    private func written(_ bytes: [UInt8], sections: [UInt64] = [0], contentOffset: UInt64 = 0) throws
        -> BlockTags
    {
        let tags = BlockTags(sections: sections, contentOffset: contentOffset)
        try file.write(bytes, at: 0)
        for (number, start) in sections.enumerated() {
            let end = number + 1 < sections.count ? Int(sections[number + 1]) : bytes.count
            Array(bytes[Int(start)..<end]).withUnsafeBytes { tags.cover(number, with: $0) }
        }
        return tags
    }

    private func read(_ tags: BlockTags, _ range: Range<Int>) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        try bytes.withUnsafeMutableBytes { try tags.read(file, into: $0, at: UInt64(range.lowerBound)) }
        return bytes
    }

    private func flip(_ position: UInt64) throws {
        try file.write(try file.read(count: 1, at: position).map { $0 ^ 0x10 }, at: position)
    }

    @Test(
        arguments: [0, 1, 23, 65_536, 70_000] as [UInt64],
        [[0], [0, 65_536, 131_072], [0, 100]] as [[UInt64]])
    func coveredBytesAreRead(contentOffset: UInt64, sections: [UInt64]) throws {
        let bytes = Vectors.bytes(Self.size + 5)
        let tags = try written(bytes, sections: sections, contentOffset: contentOffset)
        for range in [0..<1, 0..<bytes.count, 22..<24, 99..<101, 65_535..<131_073, Self.size..<Self.size + 5]
        {
            #expect(try read(tags, range).elementsEqual(bytes[range]))
        }
        #expect(throws: CryptographyError.self) { try read(tags, 0..<bytes.count + 1) }
        #expect(try tags.damagedSections(of: file).isEmpty)
    }

    @Test func uncoveredSectionIsNotRead() throws {
        let bytes = Vectors.bytes(Self.size)
        let tags = BlockTags(sections: [0, 131_072])
        try file.write(bytes, at: 0)
        Array(bytes[131_072...]).withUnsafeBytes { tags.cover(1, with: $0) }
        #expect(try read(tags, 131_072..<Self.size).elementsEqual(bytes[131_072...]))
        #expect(throws: CryptographyError.self) { try read(tags, 131_071..<131_073) }
        #expect(try tags.damagedSections(of: file).isEmpty)
    }

    @Test(arguments: [1, 1000, 65_536, 100_000])
    func tagsDoNotDependOnPieces(piece: Int) throws {
        let bytes = Vectors.bytes(200_001)
        try file.write(bytes, at: 0)
        let tags = BlockTags(contentOffset: 23)
        var tagging = BlockTagging(tags)
        for start in stride(from: 0, to: bytes.count, by: piece) {
            Array(bytes[start..<min(start + piece, bytes.count)]).withUnsafeBytes { tagging.add($0) }
        }
        tagging.finish()
        #expect(try read(tags, 0..<bytes.count) == bytes)
    }

    @Test func changedBitIsDetectedInItsBlockOnly() throws {
        let bytes = Vectors.bytes(Self.size)
        let tags = try written(bytes, sections: [0, 131_072])
        for position in [0, 1, 65_535, 65_536, 131_071, 131_072, 262_143] as [UInt64] {
            try flip(position)
            #expect(throws: CryptographyError.self) { try read(tags, Int(position)..<Int(position) + 1) }
            #expect(try tags.damagedSections(of: file) == [Int(position / 131_072)])
            for other in 0..<4 where other != position / 65_536 {
                let range = other * 65_536..<other * 65_536 + 1000
                #expect(try read(tags, range).elementsEqual(bytes[range]))
            }
            try flip(position)
        }
    }

    @Test func movedAndCutBlocksAreDetected() throws {
        var changed = [UInt8](repeating: 7, count: Self.size)
        changed.replaceSubrange(65_536..<131_072, with: Vectors.bytes(65_536))
        let tags = try written(changed)
        let whole = try file.readAll(limit: 1 << 20)
        try file.write(Array(whole[65_536..<131_072]), at: 0)
        #expect(throws: CryptographyError.self) { try read(tags, 10..<20) }
        try file.write(whole, at: 0)
        try file.truncate(to: 200_000)
        #expect(throws: CryptographyError.self) { try read(tags, 199_000..<199_001) }
        #expect(try read(tags, 0..<196_608).elementsEqual(changed[..<196_608]))
    }

    @Test(arguments: [0, 1, 65_520, 65_536, 200_001])
    func verifiedFileChecksEachBlockAtEachRead(size: Int) throws {
        let plain = Vectors.bytes(size)
        let writer = try CryptoFileWriter(file: file, arguments: Vectors.arguments)
        try writer.append(plain)
        try writer.finish()
        let checked = try CryptoFileReader(file: file, arguments: Vectors.arguments)
        #expect(checked.tags == nil)
        try checked.verify()
        // A later reader reuses the tags.
        let reader = try CryptoFileReader(
            file: file, arguments: Vectors.arguments, tags: try #require(checked.tags))
        func read(_ range: Range<Int>) throws -> [UInt8] {
            try [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
                count = try reader.read(
                    into: UnsafeMutableRawBufferPointer(buffer), at: UInt64(range.lowerBound))
            }
        }
        #expect(try read(0..<size + 10).elementsEqual(plain))
        guard size > 0 else { return }
        try flip(UInt64(size / 2))
        #expect(throws: CryptographyError.self) { try read(size / 2..<size / 2 + 1) }
        #expect(throws: CryptographyError.self) { try checked.verify() }
    }
}
