import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Cryptography

/// A stream whose first bytes are known last.
@Suite struct StreamFileWriterTests {
    private static func header(_ size: Int, name: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt64(size))
        return bytes + Array(name.utf8)
    }

    private func written(
        _ content: [UInt8], name: String, length: UInt64, piece: Int
    ) throws -> (bytes: [UInt8], content: Range<UInt64>) {
        let folder = try TemporaryFolder()
        let file = try OpenFile(folder.path("stream"), flags: O_RDWR | O_CREAT)
        let writer = try StreamFileWriter(
            file: file, arguments: Vectors.arguments, header: Self.header(0, name: name))
        for start in stride(from: 0, to: content.count, by: piece) {
            try content[start..<min(start + piece, content.count)].withUnsafeBytes { try writer.append($0) }
        }
        let place = try writer.finish(header: Self.header(content.count, name: name), length: length)
        return (try file.read(count: Int(try file.size()), at: 0), place)
    }

    @Test(
        arguments: [0, 1, 2, 5, 6, 7, 100, 65_000, 262_144, 524_281, 700_001],
        [("", 1 << 20), ("file", 4096), ("a name of some length.bin", 70_001)])
    func streamEqualsOneSealedAtOnce(size: Int, _ form: (name: String, piece: Int)) throws {
        let content = Vectors.bytes(size)
        let plain = Self.header(size, name: form.name) + content
        let length = (plain.count + 5000) / 16 * 16
        var expected = plain + [UInt8](repeating: UInt8(ascii: "#"), count: length - plain.count)
        var box = try StreamBox(key: Vectors.key, nonce: Vectors.nonce)
        expected.withUnsafeMutableBytes { box.seal($0) }
        expected += box.tag()
        let (bytes, place) = try written(
            content, name: form.name, length: UInt64(length), piece: form.piece)
        #expect(bytes == expected)
        #expect(place == UInt64(8 + form.name.utf8.count)..<UInt64(plain.count))
    }

    @Test func anyKeyGivesTagWithLateStart() {
        var generator = SeededGenerator(state: 5)
        for round in 0..<300 {
            var key = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
            // The largest multiplier and the largest mask.
            if round % 10 == 0 { key.replaceSubrange(0..<16, with: repeatElement(255, count: 16)) }
            if round % 10 == 1 { key.replaceSubrange(16..<32, with: repeatElement(255, count: 16)) }
            let blocks = round < 40 ? round + 1 : Int.random(in: 1...3000, using: &generator)
            var bytes = (0..<16 * blocks).map { _ in UInt8.random(in: 0...255, using: &generator) }
            if round % 7 == 0 { bytes = [UInt8](repeating: 255, count: 16 * blocks) }
            let start = Array(bytes[..<16])
            let expected = bytes.withUnsafeBytes { bytes in
                key.withUnsafeBytes { Poly1305.tag(of: bytes, key: $0) }
            }
            var late = key.withUnsafeBytes { Poly1305(key: $0) }
            bytes.replaceSubrange(0..<16, with: repeatElement(0, count: 16))
            bytes.withUnsafeBytes { late.update($0) }
            let tag = late.tag(start: start, length: UInt64(bytes.count), key: key)
            #expect(SIMD16(tag) == expected, "round \(round)")
        }
    }

    @Test func productsAndPowersAreReduced() {
        // 2^130 is 5, and 2^128 · 2^128 is 2^126 · 5.
        let one = Poly1305Number([1] + [UInt8](repeating: 0, count: 15))
        let two = one + one
        let high = two.power(128)
        #expect(high == Poly1305Number([UInt8](repeating: 0, count: 16), high: 1))
        #expect(two.power(130) == Poly1305Number([5] + [UInt8](repeating: 0, count: 15)))
        #expect(high * high == two.power(126) * Poly1305Number([5] + [UInt8](repeating: 0, count: 15)))
        // 2^130 − 6 is the largest number.
        let largest = Poly1305Number([250] + [UInt8](repeating: 255, count: 15), high: 3)
        #expect(largest + one == Poly1305Number([UInt8](repeating: 0, count: 16)))
        #expect((largest * largest).lowBytes == one.lowBytes)
    }
}
