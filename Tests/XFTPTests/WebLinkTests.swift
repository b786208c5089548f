import Base
import Posix
import TestSupport
import Testing

@testable import XFTP

@Suite("Web links of relays")
struct WebLinkTests {
    /// Compresses with Python's zlib to raw DEFLATE.
    private static func deflate(_ bytes: [UInt8], level: Int = 9, strategy: Int = 0) async throws -> [UInt8] {
        let script = """
            import sys, zlib, binascii
            packer = zlib.compressobj(\(level), zlib.DEFLATED, -15, 9, \(strategy))
            data = binascii.unhexlify(sys.argv[1]) * int(sys.argv[2])
            print(binascii.hexlify(packer.compress(data) + packer.flush()).decode())
            """
        let outcome = try await Shell.run("python3", ["-c", script, Hexadecimal.encode(bytes), "1"])
        return try #require(Hexadecimal.decode(String(outcome.output.filter { !$0.isWhitespace })))
    }

    private static func link(_ compressed: [UInt8], host: String = "https://relay.example/") -> String {
        host + "#" + Base64URL.encode(compressed)
    }

    @Test(
        "a description that was packed by zlib in any way is found", arguments: [0, 1, 6, 9], [0, 2, 3, 4])
    func packed(level: Int, strategy: Int) async throws {
        let description = try Vectors.description()
        let compressed = try await Self.deflate(
            Array(description.text.utf8), level: level, strategy: strategy)
        for host in ["https://relay.example/", "https://relay.example:5443", "https://[2001:db8::1]/"] {
            let link = try FileLink(parsing: Self.link(compressed, host: host))
            #expect(link.fileDescription == description && link.data == nil)
            #expect(try FileLink(parsing: link.text) == link)
        }
        let unpadded = Self.link(compressed).replacing("=", with: "")
        #expect(try FileLink(parsing: unpadded).fileDescription == description)
    }

    @Test("output of zlib is unpacked", arguments: [0, 1, 9])
    func anything(level: Int) async throws {
        var generator = SeededGenerator(state: 3)
        for size in [0, 1, 2, 3, 257, 258, 259, 5_000, 40_000] {
            let alphabet = UInt8.random(in: 1...255, using: &generator)
            let bytes = (0..<size).map { _ in UInt8.random(in: 0...alphabet, using: &generator) }
            #expect(try Inflate.decode(try await Self.deflate(bytes, level: level), limit: 1 << 20) == bytes)
        }
    }

    @Test("a decompression bomb ends at the limit")
    func bomb() async throws {
        let bytes = [UInt8](repeating: 65, count: 4 << 20)
        // Too long for an argument, so compress it from a short one.
        let script = """
            import zlib, binascii
            packer = zlib.compressobj(9, zlib.DEFLATED, -15)
            print(binascii.hexlify(packer.compress(b"A" * (64 << 20)) + packer.flush()).decode())
            """
        let outcome = try await Shell.run("python3", ["-c", script])
        let bomb = try #require(Hexadecimal.decode(String(outcome.output.filter { !$0.isWhitespace })))
        #expect(bomb.count < 100_000)
        #expect(throws: Inflate.Failure.tooLong) { try Inflate.decode(bomb, limit: FileLink.longestUnpacked) }
        #expect(throws: Inflate.Failure.tooLong) { try Inflate.decode(bomb, limit: 0) }
        #expect(try Inflate.decode(bomb, limit: 64 << 20).prefix(bytes.count).elementsEqual(bytes))
        #expect(throws: XFTPError.self) { try FileLink(parsing: Self.link(bomb)) }
    }

    @Test(
        "invalid DEFLATE streams are rejected",
        arguments: [
            "", "00", "07", "01", "0100", "0100000000", "010100ffff", "03", "0301", "ff", "05", "04c081",
            "4b4c0400ff", "0301000000",
        ])
    func malformed(hexadecimal: String) throws {
        let bytes = try #require(Hexadecimal.decode(hexadecimal))
        #expect(throws: Inflate.Failure.malformed) { try Inflate.decode(bytes, limit: 1 << 20) }
    }

    @Test("damaged streams end")
    func damaged() async throws {
        let text = Array(try Vectors.description().text.utf8)
        let good = try await Self.deflate(text)
        for end in 0..<good.count {
            #expect(throws: Inflate.Failure.malformed) {
                try Inflate.decode(Array(good[..<end]), limit: 1 << 20)
            }
        }
        var generator = SeededGenerator(state: 4)
        for _ in 0..<20_000 {
            let bytes = generator.mutated(good)
            if let output = try? Inflate.decode(bytes, limit: 4096) { #expect(output.count <= 4096) }
        }
    }

    @Test(arguments: [
        "https://", "https://#AwA", "https:///#AwA", "https://relay.example/",
        "https://relay.example/path/#AwA",
        "https://relay.example/#", "https://relay.example/#A", "https://relay.example/#+/+/",
        "https://relay.example/#AwA",
    ])
    func invalidWebLinksAreRejected(text: String) {
        #expect(throws: XFTPError.self) { try FileLink(parsing: text) }
    }

    @Test("the documented limits are the default")
    func documentedLimits() {
        #expect(FileLink.longest == 8 << 20 && FileLink.longestUnpacked == 1 << 20)
    }

    @Test("too long links are not unpacked")
    func long() {
        let text = "https://relay.example/#" + String(repeating: "A", count: FileLink.longestUnpacked * 2)
        #expect(throws: XFTPError.self) { try FileLink(parsing: text) }
    }
}
