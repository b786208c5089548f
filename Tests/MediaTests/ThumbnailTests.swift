import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Media

/// Thumbnails of files without local content.
@Suite struct ThumbnailTests {
    private static let reader = """
        import struct, sys, zlib
        data = open(sys.argv[1], "rb").read()
        assert data[:8] == b"\\x89PNG\\r\\n\\x1a\\n"
        place, out, pixels = 8, [], b""
        while place < len(data):
            length, kind = struct.unpack(">I4s", data[place:place + 8])
            body = data[place + 8:place + 8 + length]
            assert struct.unpack(">I", data[place + 8 + length:place + 12 + length])[0] == zlib.crc32(kind + body)
            if kind == b"tEXt": out.append(body.replace(b"\\0", b"=").decode("latin-1"))
            if kind == b"IHDR": out.append("%d x %d, %d %d %d %d %d" % struct.unpack(">IIBBBBB", body))
            if kind == b"IDAT": pixels += body
            place += 12 + length
        assert kind == b"IEND"
        out.append("%d bytes" % len(zlib.decompress(pixels)))
        print("\\n".join(out))
        """

    private func maker(_ program: String = ChatFSProcess.path, timeout: Duration = .seconds(30))
        -> ThumbnailMaker
    {
        ThumbnailMaker(program: program, timeout: timeout)
    }

    private func uri(_ bytes: [UInt8], _ kind: String = "jpg") -> String {
        "data:image/\(kind);base64," + Base64.encode(bytes)
    }

    private func thumbnail(_ preview: String, side: Int = 128, _ maker: ThumbnailMaker? = nil) async
        -> [UInt8]?
    {
        await (maker ?? self.maker()).thumbnail(
            preview: preview, side: side, uri: "file:///mnt/a%20b.jpg", modified: 1_700_000_000)
    }

    @Test("a preview becomes pixels of at most that size, and nothing else does")
    func pixels() async throws {
        let studio = try Studio()
        let picture = try await studio.draw(PreviewTests.halves(320, 160), "a.jpg")
        let pixels = try #require(await maker().pixels(ofPreview: uri(picture), side: 96))
        #expect(pixels.width == 96 && pixels.height == 48 && pixels.bytes.count == 3 * 96 * 48)
        #expect(await maker().pixels(ofPreview: uri(Array(picture.prefix(20))), side: 96) == nil)
        #expect(await maker().pixels(ofPreview: "data:text/plain,x", side: 96) == nil)
        let output = try #require(PreviewPixels.output(width: 2, height: 1, [1, 2, 3, 4, 5, 6]))
        #expect(PreviewPixels(output, side: 2)?.bytes == [1, 2, 3, 4, 5, 6])
        for wrong in [Array(output.dropLast()), output + [0], [], [0, 0, 0, 1]] {
            #expect(PreviewPixels(wrong, side: 2) == nil)
        }
        #expect(PreviewPixels(output, side: 1) == nil)
    }

    @Test(arguments: [
        ("jpg", 128, 128, 64), ("jpeg", 256, 256, 128), ("png", 512, 512, 256), ("jpg", 1024, 320, 160),
    ])
    func thumbnailIsAPNGWithSizeAndURI(kind: String, side: Int, width: Int, height: Int) async throws {
        let studio = try Studio()
        let picture = try await studio.draw(PreviewTests.halves(320, 160), kind == "png" ? "a.png" : "a.jpg")
        let png = try #require(await thumbnail(uri(picture, kind), side: side))
        let path = try studio.folder.write(png, to: "thumbnail.png")
        let read = try await Shell.run("python3", ["-c", Self.reader, path])
        #expect(
            read.output.split(separator: "\n") == [
                "\(width) x \(height), 8 2 0 0 0", "Thumb::URI=file:///mnt/a%20b.jpg",
                "Thumb::MTime=1700000000",
                "Software=ChatFS", "\((3 * width + 1) * height) bytes",
            ], "\(read.errors)")
        let rows = try await studio.make("-i", "thumbnail.png", "-f", "image2pipe", "-c:v", "ppm", "a.ppm")
        let lines = rows.split(separator: 10, maxSplits: 3, omittingEmptySubsequences: false)
        let pixels = Pixels(width: width, height: height, bytes: Array(lines[3]))
        #expect(pixels.isLike(red, 25, 50))
        #expect(pixels.isLike(blue, 75, 50))
    }

    @Test func smallPreviewsGrowAtMostTwofold() {
        let small = PictureSize(width: 40, height: 20)
        #expect(small.filling(128, growing: 2) == PictureSize(width: 80, height: 40))
        #expect(small.filling(64, growing: 2) == PictureSize(width: 64, height: 32))
        #expect(
            PictureSize(width: 1, height: 10_000).filling(128, growing: 2)
                == PictureSize(width: 1, height: 128))
    }

    @Test func invalidPreviewsHaveNoThumbnail() async throws {
        let studio = try Studio()
        let picture = try await studio.draw("testsrc2=size=64x64", "a.jpg")
        let gif = try await studio.draw("testsrc2=size=64x64", "a.gif")
        let others = [
            "", "hello", "data:image/jpg;base64,", "data:text/html;base64," + Base64.encode(picture),
            uri(Array(picture.prefix(300))), uri(gif), "data:image/jpg;base64,*" + Base64.encode(picture),
            "data:image/jpg;base64,/9j/" + String(repeating: "A", count: 70_000),
        ]
        for other in others { #expect(await thumbnail(other) == nil, "\(other.prefix(40))") }
    }

    /// A compromised process can pass on only pixels.
    @Test(arguments: ["exit 1", "kill -SEGV $$", "exec sleep 100", "printf 'no picture'", "cat"])
    func faultyProcessGivesNoThumbnail(line: String) async throws {
        let studio = try Studio()
        let picture = try await studio.draw("testsrc2=size=64x64", "a.jpg")
        let program = try studio.script("#!/bin/sh\n\(line)\n")
        #expect(await thumbnail(uri(picture), maker(program, timeout: .seconds(2))) == nil)
    }

    @Test(
        arguments: [
            (side: 64, format: "rgb24", end: 1.0, isTaken: true), (400, "rgb24", 1, false),
            (64, "gray", 1, false),
            (64, "rgb24", 0.9, false),
        ])
    func compromisedProcessGivesOnlyPixels(
        side: Int, format: String, end: Double, isTaken: Bool
    ) async throws {
        let studio = try Studio()
        let picture = try await studio.draw("testsrc2=size=64x64", "a.jpg")
        // With foreign texts.
        let made = try await studio.make(
            "-f", "lavfi", "-i", "color=red:size=\(side)x\(side)", "-frames:v", "1", "-pix_fmt", format,
            "a.png")
        let pixels = made.indices.first { Array(made[$0...].prefix(4)) == Array("IDAT".utf8) } ?? 4
        let text = Array("tEXtThumb::URI".utf8) + [0] + Array("evil".utf8)
        let sum = text.reduce(~UInt32(0)) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in sum & 1 == 0 ? sum >> 1 : 0xEDB8_8320 ^ sum >> 1 }
        }
        func number(_ value: UInt32) -> [UInt8] {
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
        }
        let png =
            Array(made[..<(pixels - 4)]) + number(UInt32(text.count - 4)) + text + number(~sum)
            + Array(made[(pixels - 4)...])
        let octal = png.prefix(Int(Double(png.count) * end)).map { byte in
            "\\" + (byte < 8 ? "00" : byte < 64 ? "0" : "") + String(byte, radix: 8)
        }
        let program = try studio.script("#!/bin/sh\nprintf '\(octal.joined())'\n")
        let handed = await thumbnail(uri(picture), maker(program))
        guard isTaken else {
            #expect(handed == nil)
            return
        }
        let path = try studio.folder.write(try #require(handed), to: "out.png")
        let read = try await Shell.run("python3", ["-c", Self.reader, path])
        #expect(read.output.contains("64 x 64") && !read.output.contains("evil"), "\(read.errors)")
    }

    @Test func missingDecoderGivesNoThumbnails() async throws {
        #expect(await maker().isAvailable())
        #expect(await !maker("/nonexistent").isAvailable())
    }

    @Test func anyPNGBytesAreHandled() async throws {
        let studio = try Studio()
        let whole = try await studio.make(
            "-f", "lavfi", "-i", "testsrc2=size=64x64", "-frames:v", "1", "-pix_fmt", "rgb24", "a.png")
        #expect(PNGFile(whole, side: 64) != nil)
        #expect(PNGFile(whole, side: 63) == nil)
        var generator = SeededGenerator(state: 5)
        for _ in 0..<500 {
            var bytes = whole
            bytes[Int.random(in: 0..<bytes.count, using: &generator)] ^= .random(
                in: 1...255, using: &generator)
            #expect(PNGFile(bytes, side: 64) == nil, "every byte counts in a checksum")
            _ = PNGFile(Array(whole.prefix(Int.random(in: 0..<whole.count, using: &generator))), side: 64)
        }
    }
}
