import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Cryptography

/// Checks that accompany sequential reads, and stepwise verification.
@Suite("Checks during reads of a CryptoFile")
struct CheckAlongTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func made(_ bytes: [UInt8]) throws -> CryptoFileReader {
        let path = folder.path("file")
        let file = try OpenFile(path, flags: O_RDWR | O_CREAT | O_TRUNC)
        let writer = try CryptoFileWriter(file: file, arguments: Vectors.arguments)
        try writer.append(bytes)
        try writer.finish()
        return try CryptoFileReader(file: OpenFile(path, flags: O_RDONLY), arguments: Vectors.arguments)
    }

    private func read(
        _ reader: CryptoFileReader, _ count: Int, at offset: UInt64, _ check: inout CryptoFileReader.Check
    ) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: count)
        let filled = try buffer.withUnsafeMutableBytes {
            try reader.read(into: $0, at: offset, checking: &check)
        }
        return Array(buffer[..<filled])
    }

    @Test("sequential reads of any length need no second pass")
    func inOrder() throws {
        let bytes = Vectors.bytes(300_001)
        let reader = try made(bytes)
        var dice = Dice(seed: 3)
        for _ in 0..<5 {
            var (check, position, all) = (reader.beginCheck(), 0, [UInt8]())
            while position < bytes.count {
                let piece = try read(
                    reader, Int.random(in: 1...70_000, using: &dice), at: UInt64(position), &check)
                all += piece
                position += piece.count
            }
            #expect(try read(reader, 10, at: UInt64(position), &check) == [])
            #expect(all == bytes)
            try reader.finish(check)
        }
        // Such a check keeps no block tags.
        #expect(!reader.isVerified)
    }

    @Test("finish verifies skipped ranges and detects changes")
    func outOfOrder() throws {
        let bytes = Vectors.bytes(200_000)
        let reader = try made(bytes)
        var check = reader.beginCheck()
        #expect(try read(reader, 1000, at: 100_000, &check) == Array(bytes[100_000..<101_000]))
        #expect(try read(reader, 1000, at: 0, &check) == Array(bytes[..<1000]))
        #expect(try read(reader, 1000, at: 500, &check) == Array(bytes[500..<1500]))
        try reader.finish(check)
        let file = try OpenFile(folder.path("file"), flags: O_RDWR)
        for place in [0, 1000, 150_000, 199_999, 200_000, 200_015] as [UInt64] {
            let byte = try file.read(count: 1, at: place)
            try file.write([byte[0] ^ 8], at: place)
            var check = reader.beginCheck()
            _ = try read(reader, 1000, at: 0, &check)
            let error = #expect(throws: CryptographyError.self, "\(place)") { try reader.finish(check) }
            #expect(error?.code == .notAuthentic)
            try file.write(byte, at: place)
        }
        try reader.finish(reader.beginCheck())
    }

    @Test("steps cover one MiB and decrypt on request")
    func steps() throws {
        let bytes = Vectors.bytes((2 << 20) + 5)
        let reader = try made(bytes)
        var verification = reader.beginVerification()
        var positions: [UInt64] = []
        var received: [UInt8] = []
        while try !reader.step(&verification, receive: { received += $0 }) {
            positions.append(verification.position)
        }
        #expect(positions == [1 << 20, 2 << 20] && verification.position == UInt64(bytes.count))
        #expect(received == bytes)
        #expect(reader.isVerified && reader.tags != nil)
        let tags = try #require(reader.tags)
        let later = try CryptoFileReader(
            file: OpenFile(folder.path("file"), flags: O_RDONLY), arguments: Vectors.arguments, tags: tags)
        var buffer = [UInt8](repeating: 0, count: 100)
        #expect(try buffer.withUnsafeMutableBytes { try later.read(into: $0, at: 70_000) } == 100)
        #expect(buffer == Array(bytes[70_000..<70_100]))
        #expect(
            try buffer.withUnsafeMutableBytes { try later.read(into: $0, at: UInt64(bytes.count) - 3) } == 3)
        #expect(try buffer.withUnsafeMutableBytes { try later.read(into: $0, at: UInt64(bytes.count)) } == 0)
        #expect(try buffer.withUnsafeMutableBytes { try later.read(into: $0, at: .max) } == 0)
    }

    @Test("an aborted pass verifies nothing and rethrows the error")
    func stopped() throws {
        let reader = try made(Vectors.bytes(200_000))
        let error = #expect(throws: CryptographyError.self) {
            try reader.decrypt { (_) throws(CryptographyError) in
                throw CryptographyError(.invalidArguments, "enough")
            }
        }
        #expect(error?.sentence == "enough")
        #expect(!reader.isVerified)
        try reader.verify()
        #expect(reader.isVerified)
    }

    @Test("a trusted file is read without a check")
    func trusted() throws {
        let bytes = Vectors.bytes(1000)
        _ = try made(bytes)
        let file = try OpenFile(folder.path("file"), flags: O_RDWR)
        let byte = try file.read(count: 1, at: 7)
        try file.write([byte[0] ^ 0xFF], at: 7)
        let reader = try CryptoFileReader(file: file, arguments: Vectors.arguments, isTrusted: true)
        #expect(reader.isVerified && reader.tags == nil)
        var buffer = [UInt8](repeating: 0, count: 1000)
        #expect(try buffer.withUnsafeMutableBytes { try reader.read(into: $0, at: 0) } == 1000)
        #expect(buffer[7] == bytes[7] ^ 0xFF && buffer[8...] == bytes[8...])
    }
}
