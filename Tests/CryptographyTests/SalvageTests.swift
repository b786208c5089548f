import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Cryptography

/// Intact bytes of a damaged file are recovered, and never reported as authentic.
@Suite struct SalvageTests {
    private let folder: TemporaryFolder
    private let source: String
    private let plain = Vectors.bytes(300_000)

    init() throws {
        folder = try TemporaryFolder()
        source = folder.path("source")
        let writer = try CryptoFileWriter(
            file: OpenFile(source, flags: O_RDWR | O_CREAT), arguments: Vectors.arguments)
        try writer.append(plain)
        try writer.finish()
    }

    private func salvage() throws -> (CryptoFile.Salvage, [UInt8]) {
        let out = folder.path("out")
        let result = try CryptoFile.salvage(from: source, to: out, arguments: Vectors.arguments)
        return (result, try OpenFile(out, flags: O_RDONLY).readAll(limit: 1 << 20))
    }

    @Test func intactFileIsRecoveredCompletely() throws {
        let (result, bytes) = try salvage()
        #expect(result == CryptoFile.Salvage(isAuthentic: true, size: 300_000, unreadable: 0))
        #expect(bytes == plain)
    }

    @Test(arguments: [0, 65_536, 299_999, 300_000, 300_015] as [UInt64])
    func changedByteAffectsOnlyItself(position: UInt64) throws {
        let file = try OpenFile(source, flags: O_RDWR)
        try file.write(try file.read(count: 1, at: position).map { $0 ^ 2 }, at: position)
        let (result, bytes) = try salvage()
        #expect(result == CryptoFile.Salvage(isAuthentic: false, size: 300_000, unreadable: 0))
        let differing = bytes.indices.filter { bytes[$0] != plain[$0] }
        #expect(differing == (position < 300_000 ? [Int(position)] : []))
    }

    @Test(arguments: [0, 10, 16, 17, 200_000, 300_015] as [UInt64])
    func truncatedFileIsRecoveredUpToItsEnd(length: UInt64) throws {
        try OpenFile(source, flags: O_RDWR).truncate(to: length)
        let (result, bytes) = try salvage()
        #expect(!result.isAuthentic)
        #expect(bytes.count == max(0, Int(length) - 16) && bytes.elementsEqual(plain[..<bytes.count]))
    }

    @Test func unreadableRangesBecomeZeros() throws {
        let file = try OpenFile(source, flags: O_RDONLY)
        // Two pages of 4 KiB in one block of 64 KiB.
        let bad: Range<UInt64> = 70_000..<74_000
        let out = folder.path("out")
        let result = try CryptoFile.salvage(file, to: out, arguments: Vectors.arguments) {
            (buffer, offset) throws(SystemError) in
            if bad.overlaps(offset..<offset + UInt64(buffer.count)) {
                throw SystemError(code: EIO, operation: "read a file")
            }
            return try file.read(into: buffer, at: offset)
        }
        let lost = 69_632..<77_824
        #expect(
            result == CryptoFile.Salvage(isAuthentic: false, size: 300_000, unreadable: UInt64(lost.count)))
        let bytes = try OpenFile(out, flags: O_RDONLY).readAll(limit: 1 << 20)
        #expect(bytes[lost].allSatisfy { $0 == 0 })
        #expect(bytes[..<lost.lowerBound] == plain[..<lost.lowerBound])
        #expect(bytes[lost.upperBound...] == plain[lost.upperBound...])
    }
}
