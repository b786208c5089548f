import Glibc
import Posix
import TestSupport
import Testing

@testable import QRCodes

/// A square of modules for drawing.
private func pattern() throws -> QRCode {
    try #require(QRCode(width: 21, isDark: (0..<441).map { $0 % 3 == 0 }))
}

@Suite("Drawing QR codes")
struct QRCodeTests {
    @Test("invalid sizes are rejected", arguments: [(0, 0), (20, 400), (22, 484), (181, 32_761), (21, 440)])
    func sizes(_ width: Int, _ count: Int) {
        #expect(QRCode(width: width, isDark: [Bool](repeating: true, count: count)) == nil)
    }

    @Test("terminal lines show all modules on both backgrounds")
    func terminal() throws {
        let code = try pattern()
        for background in QRCode.Background.allCases {
            let lines = code.lines(on: background)
            #expect(lines.count == 13 && lines.allSatisfy { $0.count == 25 })
            for row in -2..<23 {
                for (column, letter) in zip(-2..<23, lines[(row + 2) / 2]) {
                    let isWritten = (row + 2) % 2 == 0 ? "█▀".contains(letter) : "█▄".contains(letter)
                    #expect(isWritten == (code[row, column] == (background == .light)))
                }
            }
        }
    }

    @Test("other programs recognise the picture")
    func picture() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/code.png"
        try OpenFile(path, flags: O_WRONLY | O_CREAT).write(try pattern().png(scale: 3), at: 0)
        let seen = try await Shell.run("file", ["-b", path]).output
        #expect(seen.contains("87 x 87, 1-bit grayscale"))
    }

    /// Decodes a picture with Python's zlib and prints a letter for each pixel, row by row.
    private static let decoder = """
        import struct, sys, zlib
        data, place, pixels = open(sys.argv[1], "rb").read(), 8, b""
        assert data[:8] == bytes([137, 80, 78, 71, 13, 10, 26, 10])
        while place < len(data):
            length, = struct.unpack(">I", data[place:place + 4])
            name, body = data[place + 4:place + 8], data[place + 8:place + 8 + length]
            assert struct.unpack(">I", data[place + 8 + length:place + 12 + length])[0] == zlib.crc32(name + body)
            if name == b"IHDR": size = struct.unpack(">IIBBBBB", body)
            if name == b"IDAT": pixels += body
            place += 12 + length
        assert name == b"IEND" and size[0] == size[1] and size[2:] == (1, 0, 0, 0, 0)
        rows, stride = zlib.decompress(pixels), (size[0] + 7) // 8 + 1
        assert len(rows) == size[1] * stride
        for row in range(size[1]):
            line = rows[row * stride:(row + 1) * stride]
            assert line[0] == 0
            print("".join(".#"[not line[1 + x // 8] >> 7 - x % 8 & 1] for x in range(size[0])))
        """

    /// The largest needs several zlib blocks; the scales put modules across byte borders.
    @Test(
        "every pixel matches its module", arguments: [(21, 1), (25, 3), (177, 8)])
    func pixels(_ width: Int, _ scale: Int) async throws {
        let code = try #require(QRCode(width: width, isDark: (0..<width * width).map { $0 % 3 == 0 }))
        let folder = try TemporaryFolder()
        let path = try folder.write(code.png(scale: scale), to: "code.png")
        let seen = try await Shell.run("/usr/bin/python3", ["-c", Self.decoder, path])
        #expect(seen.succeeded)
        let side = (width + 8) * scale
        let expected = (0..<side).map { row in
            String((0..<side).map { code[row / scale - 4, $0 / scale - 4] ? "#" : "." })
        }
        #expect(seen.output.split(separator: "\n").map(String.init) == expected)
    }

    @Test("missing and foreign libraries are rejected")
    func missing() {
        #expect(QREncoder(path: "libnothing.so.4") == nil)
        #expect(QREncoder(path: "libc.so.6") == nil)
    }
}

@Suite("Encoding QR codes", .enabled(if: QREncoder.installed != nil))
struct QREncoderTests {
    @Test("texts up to the capacity have a code")
    func lengths() throws {
        let encoder = try #require(QREncoder.installed)
        #expect(encoder.code(of: "") == nil)
        #expect(encoder.code(of: "a")?.width == 21)
        #expect(encoder.code(of: String(repeating: "x", count: 2953))?.width == 177)
        #expect(encoder.code(of: String(repeating: "x", count: 2954)) == nil)
    }

    @Test("zbarimg reads the encoded text", .enabled(if: (try? Shell.find("zbarimg")) != nil))
    func read() async throws {
        let encoder = try #require(QREncoder.installed)
        let folder = try TemporaryFolder()
        for text in ["simplex:/i#AbC_-", String(repeating: "https://smp8.simplex.im/i#", count: 12)] {
            let path = folder.path + "/code.png"
            let code = try #require(encoder.code(of: text))
            try OpenFile(path, flags: O_WRONLY | O_CREAT | O_TRUNC).write(code.png(), at: 0)
            #expect(try await Shell.run("zbarimg", ["--quiet", "--raw", path]).output == text + "\n")
        }
    }
}
