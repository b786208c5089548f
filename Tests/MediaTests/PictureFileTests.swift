import Base
import TestSupport
import Testing

@testable import Media

/// PNGs of the decoding process are parsed and rebuilt for thumbnails.
@Suite("PNGs of another process")
struct PictureFileTests {
    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// CRC-32, bit by bit, as in the specification's annex.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var sum = UInt32.max
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? 0xEDB8_8320 ^ sum >> 1 : sum >> 1 }
        }
        return ~sum
    }

    private static func chunk(_ kind: String, _ data: [UInt8], checksum wrong: UInt32 = 0) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt32(data.count))
        let body = Array(kind.utf8) + data
        bytes += body
        bytes.append(bigEndian: checksum(body) ^ wrong)
        return bytes
    }

    private static func head(_ width: UInt32, _ height: UInt32, _ rest: [UInt8] = [8, 2, 0, 0, 0]) -> [UInt8]
    {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: width)
        bytes.append(bigEndian: height)
        return chunk("IHDR", bytes + rest)
    }

    private static let pixels = chunk("IDAT", [1, 2, 3])
    private static let end = chunk("IEND", [])

    private static func isTaken(_ chunks: [UInt8]..., side: Int = 100) -> Bool {
        PNGFile(signature + chunks.flatMap { $0 }, side: side) != nil
    }

    @Test("only header, pixels and own texts are kept")
    func parts() throws {
        let foreign = ["tEXt", "eXIf", "iCCP", "zTXt", "x\u{0}Y\u{7}"].map {
            Self.chunk($0, Array("secret".utf8))
        }
        let bytes =
            Self.signature + Self.head(3, 4) + foreign[0] + foreign[1] + Self.pixels + foreign[2]
            + Self.chunk("IDAT", [9]) + foreign[3] + Self.end + Array("behind the end".utf8)
        let file = try #require(PNGFile(bytes, side: 100))
        let made = file.bytes(texts: [("Thumb::URI", "file:///a"), ("Software", "")])
        #expect(
            made == Self.signature + Self.head(3, 4)
                + Self.chunk("tEXt", Array("Thumb::URI\u{0}file:///a".utf8))
                + Self.chunk("tEXt", Array("Software\u{0}".utf8)) + Self.pixels + Self.chunk("IDAT", [9])
                + Self.end)
        #expect(PNGFile(made, side: 100)?.bytes(texts: []) == file.bytes(texts: []))
    }

    @Test("other sizes and formats are rejected")
    func heads() {
        for (width, height, isTaken) in [
            (1, 1, true), (100, 100, true), (100, 1, true), (101, 1, false), (1, 101, false), (0, 5, false),
            (5, 0, false), (.max, 1, false), (1 << 31, 1, false),
        ] as [(UInt32, UInt32, Bool)] {
            #expect(
                Self.isTaken(Self.head(width, height), Self.pixels, Self.end) == isTaken,
                "\(width) × \(height)")
        }
        for rest in [
            [16, 2, 0, 0, 0], [8, 6, 0, 0, 0], [8, 2, 1, 0, 0], [8, 2, 0, 1, 0], [8, 2, 0, 0, 1],
            [8, 2, 0, 0],
            [8, 2, 0, 0, 0, 0], [],
        ] as [[UInt8]] { #expect(!Self.isTaken(Self.head(5, 5, rest), Self.pixels, Self.end), "\(rest)") }
    }

    @Test("faulty chunks are rejected")
    func order() {
        let head = Self.head(5, 5)
        #expect(Self.isTaken(head, Self.pixels, Self.end))
        #expect(!Self.isTaken(head, Self.end))
        #expect(!Self.isTaken(Self.pixels, Self.end))
        #expect(!Self.isTaken(Self.pixels, head, Self.end))
        #expect(!Self.isTaken(head, head, Self.pixels, Self.end))
        #expect(!Self.isTaken(head, Self.pixels))
        #expect(!Self.isTaken())
        for bit in 0..<32 {
            #expect(!Self.isTaken(head, Self.chunk("IDAT", [1], checksum: 1 << UInt32(bit)), Self.end))
        }
        #expect(PNGFile([], side: 100) == nil && PNGFile(Array(Self.signature.dropLast()), side: 100) == nil)
    }

    @Test("damaged files are rejected")
    func damaged() {
        let whole = Self.signature + Self.head(5, 5) + Self.pixels + Self.end
        for length in 0..<whole.count { #expect(PNGFile(Array(whole.prefix(length)), side: 100) == nil) }
        for place in whole.indices {
            var bytes = whole
            bytes[place] ^= 0x80
            #expect(PNGFile(bytes, side: 100) == nil, "byte \(place)")
        }
        // Impossible lengths.
        for length: UInt32 in [.max, .max - 11, 1 << 31, 4] {
            var bytes = Self.signature
            bytes.append(bigEndian: length)
            #expect(PNGFile(bytes + Array("IHDR".utf8), side: 100) == nil)
        }
    }

    @Test("data URIs are recognised by content")
    func uris() {
        let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 1, 2]
        for kind in ["jpg", "jpeg", "png"] {
            let uri = DataURI("data:image/\(kind);base64," + Base64.encode(jpeg))
            #expect(uri?.format == .jpeg && uri?.bytes == jpeg)
        }
        let png = DataURI("data:image/jpg;base64," + Base64.encode(Self.signature))
        #expect(png?.format == .png)
        for text in [
            "", "data:image/gif;base64," + Base64.encode(Array("GIF89a".utf8)),
            "data:image/png;base64," + Base64.encode(Array("GIF89a".utf8)),
            "data:image/jpg;base64,", "data:image/jpg;base64,!!!!", "data:image/jpg," + Base64.encode(jpeg),
            "DATA:image/jpg;base64," + Base64.encode(jpeg), " data:image/jpg;base64," + Base64.encode(jpeg),
            "data:image/svg+xml;base64," + Base64.encode(Array("<svg/>".utf8)), "data:image/jpg;base64,/9j",
        ] { #expect(DataURI(text) == nil, "\(text)") }
        func long(_ count: Int) -> String {
            "data:image/jpg;base64," + Base64.encode(jpeg + [UInt8](repeating: 0, count: count))
        }
        #expect(DataURI(long(49_000)) != nil && DataURI(long(49_200)) == nil)
    }

    @Test("sizes are proportional and at least 1")
    func sizes() {
        for (width, height, side) in [
            (1, 1, 128), (4000, 3000, 128), (1, 100_000, 128), (100_000, 1, 1), (129, 128, 128),
        ] {
            let size = PictureSize(width: width, height: height)
            let fitting = size.fitting(side)
            #expect(
                max(fitting.width, fitting.height) <= max(side, 1) && min(fitting.width, fitting.height) >= 1)
            if max(width, height) <= side { #expect(fitting == size) }
            for factor in [1, 2, 4] {
                let filling = size.filling(side, growing: factor)
                #expect(max(filling.width, filling.height) == min(side, max(width, height) * factor))
                #expect(min(filling.width, filling.height) >= 1)
            }
        }
        #expect(PictureSize(width: 400, height: 200).fitting(100) == PictureSize(width: 100, height: 50))
        #expect(
            PictureSize(width: 10, height: 5).filling(100, growing: 2) == PictureSize(width: 20, height: 10))
    }

    @Test("formats are recognised by their first bytes")
    func formats() {
        let starts: [(PictureFormat, [UInt8])] = [
            (.jpeg, [0xFF, 0xD8, 0xFF]), (.png, Self.signature), (.gif, Array("GIF87a".utf8)),
            (.gif, Array("GIF89a".utf8)),
            (.webp, Array("RIFF1234WEBP".utf8)),
        ]
        for (format, start) in starts {
            #expect(PictureFormat(start: start) == format && PictureFormat(start: start + [0, 1]) == format)
            #expect(start.count <= PictureFormat.bytesToTell)
            for length in 0..<start.count {
                #expect(PictureFormat(start: Array(start.prefix(length))) == nil)
            }
            #expect(PictureFormat(start: [0] + start) == nil && format.mediaType == "image/\(format)")
        }
    }
}
