import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Cryptography

@Suite struct SealedFileTests {
    private let folder: TemporaryFolder
    private let key = [UInt8](repeating: 9, count: 32)
    private let block = SealedFile.blockSize
    private let slot = UInt64(SealedBlock.slotSize)

    init() throws { folder = try TemporaryFolder() }

    private func open(_ name: String = "sealed", id: [UInt8] = [1]) throws -> (SealedFile, OpenFile) {
        let file = try OpenFile(folder.path(name), flags: O_RDWR | O_CREAT)
        return (try SealedFile(file: file, key: key, fileID: id), file)
    }

    private func read(_ file: SealedFile, _ offset: Int, _ count: Int) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0xee, count: count)
        let filled = try buffer.withUnsafeMutableBytes { try file.read(into: $0, at: UInt64(offset)) }
        return Array(buffer[..<filled])
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func sealedFileBehavesLikeAnArray(seed: UInt64) throws {
        var dice = Dice(seed: seed + 1)
        var (file, _) = try open("model-\(seed)")
        var model: [UInt8] = []
        for step in 0..<200 {
            let offset = Int.random(in: 0...300_000, using: &dice)
            switch Int.random(in: 0..<10, using: &dice) {
            case 0..<4:
                let bytes = Vectors.bytes(Int.random(in: 0...150_000, using: &dice), seed: UInt64(step))
                try file.write(bytes, at: UInt64(offset))
                if !bytes.isEmpty {
                    let missing = max(0, offset + bytes.count - model.count)
                    model += [UInt8](repeating: 0, count: missing)
                    model.replaceSubrange(offset..<offset + bytes.count, with: bytes)
                }
            case 4:
                try file.truncate(to: UInt64(offset))
                if offset < model.count { model.removeSubrange(offset...) }
                model += [UInt8](repeating: 0, count: offset - model.count)
            case 5:
                // Close and reopen, as after a crash.
                (file, _) = try open("model-\(seed)")
            default:
                let count = Int.random(in: 0...200_000, using: &dice)
                #expect(try read(file, offset, count) == Array(model.dropFirst(offset).prefix(count)))
            }
            #expect(file.size == UInt64(model.count))
        }
        #expect(try read(file, 0, 1 << 20) == model)
    }

    @Test func diskHoldsNoPlaintext() throws {
        let (file, disk) = try open()
        let secret = Array("the quick brown fox".utf8)
        try file.write(Array(repeatElement(secret, count: 10_000).joined()), at: 0)
        let stored = try disk.readAll(limit: 1 << 20)
        #expect(String(decoding: stored, as: UTF8.self).contains("quick") == false)
        let other = try OpenFile(folder.path("sealed"), flags: O_RDWR)
        let wrongKey = try SealedFile(file: other, key: [UInt8](repeating: 8, count: 32), fileID: [1])
        #expect(throws: CryptographyError.self) { try read(wrongKey, 0, 10) }
        let wrongFile = try SealedFile(file: other, key: key, fileID: [2])
        #expect(throws: CryptographyError.self) { try read(wrongFile, 0, 10) }
    }

    @Test func damageAffectsOnlyItsBlock() throws {
        let (file, disk) = try open()
        let bytes = Vectors.bytes(3 * block)
        try file.write(bytes, at: 0)
        for offset in [0, 11, 12, 15, 16, 19, 20, 35, 36, 40_000, Int(slot) - 1] {
            let position = slot + UInt64(offset)
            let kept = try disk.read(count: 1, at: position)
            try disk.write([kept[0] ^ 4], at: position)
            #expect(throws: CryptographyError.self) { try read(file, block + 5, 1) }
            #expect(throws: CryptographyError.self) { try read(file, 0, 3 * block) }
            #expect(try read(file, 0, block) == Array(bytes[..<block]))
            #expect(try read(file, 2 * block, block) == Array(bytes[(2 * block)...]))
            try disk.write(kept, at: position)
        }
        #expect(try read(file, 0, 3 * block) == bytes)
    }

    @Test func movedBlocksAreRejected() throws {
        let (file, disk) = try open()
        try file.write(Vectors.bytes(2 * block), at: 0)
        let first = try disk.read(count: Int(slot), at: 0)
        let second = try disk.read(count: Int(slot), at: slot)
        try disk.write(second, at: 0)
        try disk.write(first, at: slot)
        #expect(throws: CryptographyError.self) { try read(file, 0, 1) }
        #expect(throws: CryptographyError.self) { try read(file, block, 1) }
        // After reopening, nonces are unknown but numbers still count.
        let (again, _) = try open()
        #expect(throws: CryptographyError.self) { try read(again, 0, 1) }
    }

    @Test func earlierBlockVersionsAreRejected() throws {
        let (file, disk) = try open()
        try file.write(Vectors.bytes(block, seed: 1), at: 0)
        let earlier = try disk.read(count: Int(slot), at: 0)
        try file.write(Vectors.bytes(block, seed: 2), at: 0)
        try disk.write(earlier, at: 0)
        #expect(throws: CryptographyError.self) { try read(file, 0, block) }
    }

    @Test func externalTruncationIsDetected() throws {
        let (file, disk) = try open()
        try file.write(Vectors.bytes(2 * block), at: 0)
        try disk.write([UInt8](repeating: 0, count: Int(slot)), at: slot)
        #expect(throws: CryptographyError.self) { try read(file, block, 1) }
        try disk.truncate(to: 100)
        #expect(throws: CryptographyError.self) { try read(file, 0, 1) }
    }

    @Test func truncatedBytesDoNotReappear() throws {
        let (file, _) = try open()
        try file.write([UInt8](repeating: 7, count: 2 * block), at: 0)
        try file.truncate(to: 10)
        try file.truncate(to: UInt64(2 * block))
        #expect(
            try read(file, 0, 2 * block)
                == [UInt8](repeating: 7, count: 10) + [UInt8](repeating: 0, count: 2 * block - 10))
    }

    @Test func failedWriteKeepsOldContent() throws {
        let bytes = Vectors.bytes(block + 1000)
        try open().0.write(bytes, at: 0)
        let readOnly = try SealedFile(
            file: OpenFile(folder.path("sealed"), flags: O_RDONLY), key: key, fileID: [1])
        let failure = #expect(throws: CryptographyError.self) { try readOnly.write([1], at: 0) }
        #expect(failure?.systemCode == EBADF)
        #expect(try read(readOnly, 0, 2 * block) == bytes)
    }

    @Test func hugeOffsetsAreTooLarge() throws {
        let (file, _) = try open()
        for offset in [SealedFile.maxSize, UInt64(Int64.max), .max] {
            let failure = #expect(throws: CryptographyError.self) { try file.write([1], at: offset) }
            #expect(failure?.systemCode == EFBIG)
        }
        #expect(throws: CryptographyError.self) { try file.truncate(to: .max) }
        #expect(file.size == 0)
        #expect(try read(file, .max, 10) == [])
    }
}
