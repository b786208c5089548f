import Glibc
import Posix
import TestSupport
import Testing

@testable import QRCodes

/// Any square of modules, to look at how it is drawn.
private func pattern() throws -> QRCode {
    try #require(QRCode(width: 21, isDark: (0..<441).map { $0 % 3 == 0 }))
}

@Suite("Drawing a QR code")
struct QRCodeTests {
    @Test("what is no code is none", arguments: [(0, 0), (20, 400), (22, 484), (181, 32_761), (21, 440)])
    func sizes(_ width: Int, _ count: Int) {
        #expect(QRCode(width: width, isDark: [Bool](repeating: true, count: count)) == nil)
    }

    @Test("the code in a terminal has all modules, dark and light, on both kinds of background")
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

    @Test("a picture is what other programs take for one")
    func picture() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/code.png"
        try OpenFile(path, flags: O_WRONLY | O_CREAT).write(try pattern().png(scale: 3), at: 0)
        let seen = try await Shell.run("file", ["-b", path]).output
        #expect(seen.contains("87 x 87, 1-bit grayscale"))
    }

    @Test("a library that is not there, or is another, is none")
    func missing() {
        #expect(QREncoder(path: "libnothing.so.4") == nil)
        #expect(QREncoder(path: "libc.so.6") == nil)
    }
}

@Suite("Making a QR code", .enabled(if: QREncoder.installed != nil))
struct QREncoderTests {
    @Test("a text of any length that fits has a code; longer ones and none have not")
    func lengths() throws {
        let encoder = try #require(QREncoder.installed)
        #expect(encoder.code(of: "") == nil)
        #expect(encoder.code(of: "a")?.width == 21)
        #expect(encoder.code(of: String(repeating: "x", count: 2953))?.width == 177)
        #expect(encoder.code(of: String(repeating: "x", count: 2954)) == nil)
    }

    @Test("what a reader sees is what was written", .enabled(if: (try? Shell.find("zbarimg")) != nil))
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
