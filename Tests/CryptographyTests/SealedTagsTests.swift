import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Cryptography

/// Block tags as they lie on a disk.
@Suite struct SealedTagsTests {
    private static let arguments = CryptoFile.freshArguments()
    private static let starts: [UInt64] = [0, 200_000, 265_536]
    private static let size: UInt64 = 265_541
    private let content = SystemRandomSource().bytes(Int(Self.size))

    private func tags() -> BlockTags {
        let tags = BlockTags(sections: Self.starts, contentOffset: 23)
        for (section, start) in Self.starts.enumerated().reversed() {
            let end = section + 1 < Self.starts.count ? Self.starts[section + 1] : Self.size
            content[Int(start)..<Int(end)].withUnsafeBytes { tags.cover(section, with: $0) }
        }
        return tags
    }

    private func sealed() throws -> [UInt8] { try #require(tags().sealed(for: Self.arguments)) }

    @Test func openedTagsCheckTheSameFile() throws {
        let folder = try TemporaryFolder()
        let file = try OpenFile(folder.write(content, to: "file"), flags: O_RDWR)
        let tags = try #require(BlockTags(sealed: sealed(), for: Self.arguments, size: Self.size))
        var read = [UInt8](repeating: 0, count: content.count)
        try read.withUnsafeMutableBytes { try tags.read(file, into: $0, at: 0) }
        #expect(read == content)
        for place in [0, 22, 23, 199_999, 200_000, 265_540] as [UInt64] {
            try file.write([content[Int(place)] ^ 1], at: place)
            var byte: [UInt8] = [0]
            #expect(throws: CryptographyError.self) {
                try byte.withUnsafeMutableBytes { try tags.read(file, into: $0, at: place) }
            }
            try file.write([content[Int(place)]], at: place)
        }
    }

    @Test func changedTagsAreRefused() throws {
        let right = try sealed()
        for place in right.indices {
            var wrong = right
            wrong[place] ^= 1
            #expect(BlockTags(sealed: wrong, for: Self.arguments, size: Self.size) == nil)
        }
        for count in 0..<right.count {
            #expect(BlockTags(sealed: Array(right[..<count]), for: Self.arguments, size: Self.size) == nil)
        }
    }

    @Test func tagsOfAnotherFileAreRefused() throws {
        let right = try sealed()
        #expect(BlockTags(sealed: right, for: CryptoFile.freshArguments(), size: Self.size) == nil)
        for size in [0, Self.size - 1, Self.size + 1, .max] {
            #expect(BlockTags(sealed: right, for: Self.arguments, size: size) == nil)
        }
    }

    @Test func incompleteTagsAreNotSealed() {
        #expect(BlockTags(sections: [0, 65_536]).sealed(for: Self.arguments) == nil)
    }

    /// Authentic ones come from this program alone, but the decoder is total.
    @Test func anyPlaintextIsDecoded() throws {
        var generator = SeededGenerator(state: 7)
        let right = try #require(tags().encoded())
        for _ in 0..<20_000 {
            var wrong = right
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                wrong[Int.random(in: 0..<120, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            wrong.removeLast(Int.random(in: 0...2, using: &generator))
            _ = BlockTags(encoded: wrong, size: Self.size)
        }
    }
}
