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
    private static let block = UInt64(BlockTags.blockSize)

    init() throws {
        folder = try TemporaryFolder()
        file = try OpenFile(folder.path("file"), flags: O_RDWR | O_CREAT)
    }

    private func writer() throws -> CryptoFileWriter {
        try CryptoFileWriter(file: file, arguments: Vectors.arguments, makesTags: true)
    }

    private func unfinished(_ writer: CryptoFileWriter) throws -> UnfinishedCryptoFile {
        try UnfinishedCryptoFile(
            file: file, arguments: Vectors.arguments, tags: try #require(writer.tags))
    }

    private func read(_ file: UnfinishedCryptoFile, _ range: Range<Int>) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: UInt64(range.lowerBound)) }
        return bytes
    }

    private func flip(_ position: UInt64) throws {
        try file.write(try file.read(count: 1, at: position).map { $0 ^ 0x10 }, at: position)
    }

    @Test(arguments: [1, 4096, 65_535, 65_536, 65_537, 300_000])
    func flushedBytesAreReadWhileMoreIsWritten(piece: Int) throws {
        let plain = Vectors.bytes(700_001)
        let writer = try writer()
        let unfinished = try unfinished(writer)
        var start = 0
        let end = piece == 1 ? 200 : plain.count
        while start < end {
            let next = min(start + piece, end)
            try writer.append(Array(plain[start..<next]))
            try writer.flush()
            for range in [0..<next, next / 2..<next, max(0, next - 70_000)..<next, start..<next] {
                #expect(try read(unfinished, range).elementsEqual(plain[range]))
            }
            #expect(throws: CryptographyError.self) { try read(unfinished, 0..<next + 1) }
            start = next
        }
    }

    @Test func flushedBytesAreReadBeforeTheirBlockIsFull() throws {
        let plain = Vectors.bytes(100_000)
        let writer = try writer()
        let unfinished = try unfinished(writer)
        try writer.append(Array(plain[..<40_000]))
        try writer.flush()
        // The rest of the first block waits in the writer's buffer.
        try writer.append(Array(plain[40_000...]))
        #expect(try read(unfinished, 0..<40_000).elementsEqual(plain[..<40_000]))
        try writer.flush()
        #expect(try read(unfinished, 0..<100_000) == plain)
    }

    @Test func changedBitIsDetectedInItsBlockOnly() throws {
        let plain = Vectors.bytes(300_000)
        let writer = try writer()
        try writer.append(plain)
        try writer.finish()
        let unfinished = try unfinished(writer)
        try writer.confirm()
        for position in [0, 1, 65_535, 65_536, 131_071, 200_000, 299_999] as [UInt64] {
            try flip(position)
            let block = position / Self.block
            #expect(throws: CryptographyError.self) {
                try read(unfinished, Int(position)..<Int(position) + 1)
            }
            #expect(throws: CryptographyError.self) { try writer.confirm() }
            let damage = try unfinished.damage()
            #expect(damage.map(\.lowerBound) == [block * Self.block])
            for other in 0..<4 as Range<UInt64> where other != block {
                let range = Int(other * Self.block)..<Int(other * Self.block) + 1000
                #expect(try read(unfinished, range).elementsEqual(plain[range]))
            }
            try flip(position)
        }
        // The tags also cover the file's own tag.
        try flip(300_003)
        #expect(throws: CryptographyError.self) { try writer.confirm() }
        try writer.finish()
        try writer.confirm()
        #expect(try read(unfinished, 0..<300_000).elementsEqual(plain))
    }

    @Test func movedForeignAndCutBlocksAreDetected() throws {
        let plain = [UInt8](repeating: 7, count: 4 * 65_536)
        let writer = try writer()
        try writer.append(plain)
        try writer.finish()
        let unfinished = try unfinished(writer)
        let other = try CryptoFileWriter(
            file: OpenFile(folder.path("other"), flags: O_RDWR | O_CREAT), arguments: Vectors.arguments,
            makesTags: true)
        try other.append(plain)
        try other.finish()
        let whole = try file.readAll(limit: 1 << 20)
        // Equal bytes do not match another file's tags.
        let strange = try UnfinishedCryptoFile(
            file: file, arguments: Vectors.arguments, tags: try #require(other.tags))
        #expect(try read(strange, 0..<100) == Array(plain[..<100]))
        try file.write(Array(whole[65_536..<131_072]), at: 0)
        #expect(throws: CryptographyError.self) { try read(unfinished, 10..<20) }
        try file.write(whole, at: 0)
        try file.truncate(to: 200_000)
        #expect(throws: CryptographyError.self) { try read(unfinished, 199_000..<199_001) }
        #expect(try read(unfinished, 0..<196_608).elementsEqual(plain[..<196_608]))
        #expect(try unfinished.damage().map(\.lowerBound) == [196_608, 262_144])
    }

    @Test func mendedBlocksAreValid() throws {
        let plain = Vectors.bytes(200_000)
        let writer = try writer()
        try writer.append(plain)
        try writer.finish()
        let unfinished = try unfinished(writer)
        for position in [5, 70_000, 70_001] as [UInt64] { try flip(position) }
        var part = Array(plain[..<131_072])
        try part.withUnsafeMutableBytes { try unfinished.mend($0, at: 0) }
        try writer.confirm()
        #expect(try read(unfinished, 0..<200_000).elementsEqual(plain))
        let copy = try OpenFile(folder.path("copy"), flags: O_RDWR | O_CREAT)
        #expect(try unfinished.copy(to: copy).damage() == [])
        #expect(try copy.readAll(limit: 1 << 20) == file.readAll(limit: 1 << 20))
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
