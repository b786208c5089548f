import TestSupport
import Testing

@testable import Thumbnails

@Suite("URIs in foreign thumbnails")
struct ThumbnailHeadTests {
    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// A chunk of a PNG without a valid checksum.
    private static func chunk(_ kind: String, _ data: [UInt8], length: UInt32? = nil) -> [UInt8] {
        let length = length ?? UInt32(data.count)
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) } + Array(kind.utf8) + data + [
            0, 0, 0, 0,
        ]
    }

    private static func text(_ key: String, _ value: String) -> [UInt8] {
        chunk("tEXt", Array((key + "\0" + value).utf8))
    }

    private static let header = chunk("IHDR", [UInt8](repeating: 1, count: 13))

    private static func uri(_ parts: [UInt8]...) -> String? {
        ThumbnailHead.uri(signature + parts.joined()).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("the first text before the pixels counts")
    func found() {
        #expect(
            Self.uri(Self.header, Self.text("Thumb::URI", "file:///a"), Self.chunk("IDAT", [1]))
                == "file:///a")
        #expect(
            Self.uri(
                Self.text("Software", "x"), Self.chunk("zTXt", Array("Thumb::URI\0\0z".utf8)),
                Self.text("Thumb::URI", "file:///b")) == "file:///b")
        #expect(Self.uri(Self.text("Thumb::URI", "first"), Self.text("Thumb::URI", "second")) == "first")
        #expect(Self.uri(Self.text("Thumb::URI", "")) == "")
    }

    @Test("other chunks and later texts are ignored")
    func none() {
        let text = Self.text("Thumb::URI", "file:///a")
        #expect(Self.uri(Self.header, Self.chunk("IDAT", [1]), text) == nil)
        for name in ["Thumb::MTime", "thumb::uri", "Thumb::URI2", "Thumb::UR"] {
            #expect(Self.uri(Self.text(name, "x")) == nil)
        }
        #expect(Self.uri(Self.chunk("tEXt", Array("Thumb::URI".utf8))) == nil, "without its end")
        #expect(Self.uri(Self.chunk("iTXt", Array("Thumb::URI\0x".utf8))) == nil)
        #expect(
            Self.uri() == nil && ThumbnailHead.uri([]) == nil
                && ThumbnailHead.uri(Array(Self.signature.dropLast())) == nil)
        #expect(ThumbnailHead.uri(Array("GIF89a..".utf8) + text) == nil)
    }

    @Test("lengths beyond the end stop the search")
    func lengths() {
        let text = Self.text("Thumb::URI", "x")
        #expect(Self.uri(Self.chunk("abcd", [1, 2]), text) == "x")
        for length in [UInt32(3), 2 + UInt32(text.count) + 1, .max, 0x8000_0000] {
            #expect(Self.uri(Self.chunk("abcd", [1, 2], length: length), text) == nil, "\(length)")
        }
        // It is missing if truncated inside the text, and present at its end.
        let whole = Self.signature + text
        for count in whole.indices { #expect(ThumbnailHead.uri(Array(whole[..<count])) == nil) }
        #expect(ThumbnailHead.uri(whole) == Array("x".utf8))
    }

    @Test("any bytes are handled")
    func random() {
        var random = SeededGenerator(state: 4)
        let whole =
            Self.signature + Self.header + Self.text("Software", "x") + Self.text("Thumb::URI", "file:///a")
            + Self.chunk("IDAT", [1, 2, 3])
        var found = 0
        for _ in 0..<2000 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(
                    in: 0...255, using: &random)
            }
            if ThumbnailHead.uri(bytes) == Array("file:///a".utf8) { found += 1 }
        }
        #expect(found > 200 && found < 2000)
    }
}
