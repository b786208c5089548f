import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Cryptography

/// A CryptoFile with a header before its content and padding after it, as XFTP transfers it.
@Suite struct KeptStreamTests {
    private static let header = 23
    private static let size = 300_000
    private static let padding = 60_000
    private let folder: TemporaryFolder
    private let path: String
    private let file: OpenFile
    private let content = Vectors.bytes(Self.size)
    private let ciphertext: [UInt8]
    private var arguments = Vectors.arguments

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("stream")
        arguments.content = UInt64(Self.header)..<UInt64(Self.header + Self.size)
        var box = try StreamBox(key: arguments.key, nonce: arguments.nonce)
        var bytes = [UInt8](repeating: 1, count: Self.header) + content
        bytes += [UInt8](repeating: 35, count: Self.padding)
        bytes.withUnsafeMutableBytes { box.seal($0) }
        ciphertext = bytes + box.tag()
        file = try OpenFile(path, flags: O_RDWR | O_CREAT)
    }

    /// Writes the file in sections, the last one first, and returns their tags.
    @discardableResult
    private func written(section: Int = 131_072) throws -> BlockTags {
        let starts = Array(stride(from: 0, to: ciphertext.count, by: section))
        let tags = BlockTags(sections: starts.map(UInt64.init), contentOffset: UInt64(Self.header))
        for (number, start) in starts.enumerated().reversed() {
            let part = Array(ciphertext[start..<min(start + section, ciphertext.count)])
            try file.write(part, at: UInt64(start))
            part.withUnsafeBytes { tags.cover(number, with: $0) }
        }
        return tags
    }

    private func flip(_ position: UInt64) throws {
        try file.write(try file.read(count: 1, at: position).map { $0 ^ 0x10 }, at: position)
    }

    private func read(_ reader: CryptoFileReader, _ range: Range<Int>) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        let count = try bytes.withUnsafeMutableBytes {
            try reader.read(into: $0, at: UInt64(range.lowerBound))
        }
        return Array(bytes[..<count])
    }

    private static let ranges = [
        0..<1, 0..<65_536, 65_535..<65_537, 65_536..<131_072, 299_999..<300_000, 0..<300_000,
    ]

    @Test(arguments: [1000, 65_536, 262_144, 1_000_000])
    func tagsOfSectionsServeReadsOfContent(section: Int) throws {
        let tags = try written(section: section)
        let reader = try CryptoFileReader(file: file, arguments: arguments, tags: tags)
        #expect(reader.size == UInt64(Self.size))
        for range in Self.ranges { #expect(try read(reader, range).elementsEqual(content[range])) }
        #expect(try read(reader, 299_990..<300_100).count == 10)
        #expect(try read(reader, 300_000..<300_001).isEmpty)
    }

    @Test func verifiedStreamServesOnlyContent() throws {
        _ = try written()
        let reader = try CryptoFileReader(file: file, arguments: arguments)
        var verification = reader.beginVerification(digesting: true)
        while try !reader.step(&verification) {}
        #expect(verification.position == UInt64(Self.size))
        #expect(verification.digest == SHA512.hash(ciphertext))
        for range in Self.ranges { #expect(try read(reader, range).elementsEqual(content[range])) }
        var all: [UInt8] = []
        try reader.decrypt { all += $0 }
        #expect(all == content)
    }

    /// Blocks begin with the content, so a change is found in its own block of content.
    @Test(
        arguments: [0, 22, 23, 65_558, 65_559, 131_071, 131_072, 300_022, 300_023, 360_000, 360_030]
            as [UInt64])
    func changedBitIsDetected(position: UInt64) throws {
        let tags = try written()
        try CryptoFile.confirm(file, arguments)
        #expect(try tags.damagedSections(of: file).isEmpty)
        try flip(position)
        #expect(throws: CryptographyError.self) { try CryptoFile.confirm(file, arguments) }
        #expect(try tags.damagedSections(of: file) == [Int(position / 131_072)])
        #expect(throws: CryptographyError.self) {
            try CryptoFileReader(file: file, arguments: arguments).verify()
        }
        let reader = try CryptoFileReader(file: file, arguments: arguments, tags: tags)
        for block in 0..<4 {
            let start = block * 65_536
            let range = start..<min(start + 65_536, Self.size)
            // The last one holds padding, too.
            let covered = start + Self.header..<start + Self.header + BlockTags.blockSize
            if covered.contains(Int(position)) {
                #expect(throws: CryptographyError.self) { try read(reader, range) }
            } else {
                #expect(try read(reader, range).elementsEqual(content[range]))
            }
        }
    }

    @Test(arguments: [0, 15, 16, 300_000] as [UInt64])
    func truncatedStreamIsNotAuthentic(length: UInt64) throws {
        let tags = try written()
        try file.truncate(to: length)
        #expect(throws: CryptographyError.self) { try CryptoFile.confirm(file, arguments) }
        #expect(try tags.damagedSections(of: file) == (length < 262_144 ? [0, 1, 2] : [2]))
        #expect(throws: CryptographyError.self) { try CryptoFileReader(file: file, arguments: arguments) }
        #expect(!CryptoFile.hasContent(of: UInt64(Self.size), fileSize: length, arguments))
    }

    @Test func sequentialCheckVerifiesWholeStream() throws {
        _ = try written()
        let reader = try CryptoFileReader(file: file, arguments: arguments)
        var check = reader.beginCheck()
        var bytes = [UInt8](repeating: 0, count: Self.size)
        #expect(
            try bytes.withUnsafeMutableBytes { try reader.read(into: $0, at: 0, checking: &check) }
                == Self.size)
        #expect(bytes == content)
        try reader.finish(check)
        try flip(350_000)
        #expect(throws: CryptographyError.self) { try reader.finish(check) }
    }

    @Test(arguments: [nil, 100_000, 350_000] as [UInt64?])
    func salvageWritesContent(damage: UInt64?) throws {
        _ = try written()
        if let damage { try flip(damage) }
        let result = try CryptoFile.salvage(from: path, to: folder.path("out"), arguments: arguments)
        #expect(
            result
                == CryptoFile.Salvage(isAuthentic: damage == nil, size: UInt64(Self.size), unreadable: 0))
        let found = try folder.read("out")
        let differing = found.indices.filter { found[$0] != content[$0] }
        #expect(found.count == Self.size && differing == (damage == 100_000 ? [100_000 - Self.header] : []))
    }

    @Test func sizeIsThatOfContent() {
        let length = UInt64(ciphertext.count)
        #expect(CryptoFile.hasContent(of: 300_000, fileSize: length, arguments))
        #expect(!CryptoFile.hasContent(of: 299_999, fileSize: length, arguments))
        #expect(CryptoFile.hasContent(of: length - 16, fileSize: length, Vectors.arguments))
        #expect(!CryptoFile.hasContent(of: 0, fileSize: 15, Vectors.arguments))
        #expect(CryptoFile.hasContent(of: 0, fileSize: 16, Vectors.arguments))
    }
}
