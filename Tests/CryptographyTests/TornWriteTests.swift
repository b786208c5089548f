import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Cryptography

/// Synchronised content survives a power cut during later writes. A power cut is a copy of both files with later writes
/// present, missing or torn.
@Suite struct TornWriteTests {
    private let folder: TemporaryFolder
    private let key = [UInt8](repeating: 9, count: 32)
    private let block = SealedFile.blockSize

    init() throws { folder = try TemporaryFolder() }

    private func open(_ name: String) throws -> SealedFile {
        let file = try OpenFile(folder.path(name), flags: O_RDWR | O_CREAT)
        let path = folder.path(name + ".second")
        let second = access(path, F_OK) == 0 ? try OpenFile(path, flags: O_RDWR) : nil
        return try SealedFile(file: file, key: key, fileID: [1], second: second) { () throws(SystemError) in
            try OpenFile(path, flags: O_RDWR | O_CREAT)
        }
    }

    private func bytes(_ name: String) -> [UInt8] {
        (try? OpenFile(folder.path(name), flags: O_RDONLY).readAll(limit: 8 << 20)) ?? []
    }

    private func content(_ file: SealedFile) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: Int(file.size))
        let filled = try buffer.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        return Array(buffer[..<filled])
    }

    /// Returns `new` with some pages of `old`, as after an interrupted write.
    private func torn(_ old: [UInt8], _ new: [UInt8], using dice: inout Dice) -> [UInt8] {
        var result = new
        for start in stride(from: 0, to: new.count, by: 4096) where Bool.random(using: &dice) {
            for position in start..<min(start + 4096, new.count) {
                result[position] = position < old.count ? old[position] : 0
            }
        }
        return result
    }

    @Test(arguments: 1...25 as ClosedRange<UInt64>)
    func synchronisedBlocksSurviveTornWrites(seed: UInt64) throws {
        var dice = Dice(seed: seed)
        var file = try open("file")
        var model = Vectors.bytes(3 * block + 777, seed: seed)
        try file.write(model, at: 0)
        try file.synchronise()
        for round in 0..<4 {
            let (first, second) = (bytes("file"), bytes("file.second"))
            let kept = model
            var later = model
            for step in 0..<Int.random(in: 1...6, using: &dice) {
                let start = Int.random(in: 0...later.count, using: &dice)
                let change = Vectors.bytes(
                    Int.random(in: 1...90_000, using: &dice), seed: seed * 100 + UInt64(step))
                try file.write(change, at: UInt64(start))
                later += [UInt8](repeating: 0, count: max(0, start + change.count - later.count))
                later.replaceSubrange(start..<start + change.count, with: change)
            }
            #expect(try content(file) == later)
            // After the power cut each block holds its synchronised bytes or later ones.
            try folder.write(torn(first, bytes("file"), using: &dice), to: "cut-\(round)")
            if !bytes("file.second").isEmpty {
                try folder.write(torn(second, bytes("file.second"), using: &dice), to: "cut-\(round).second")
            }
            let cut = try open("cut-\(round)")
            #expect(cut.size >= UInt64(kept.count))
            for number in 0..<kept.count / block {
                var found = [UInt8](repeating: 0, count: block)
                let count = try found.withUnsafeMutableBytes {
                    try cut.read(into: $0, at: UInt64(number * block))
                }
                let range = number * block..<(number + 1) * block
                #expect(count == block)
                #expect(found == Array(kept[range]) || !later[range].elementsEqual(kept[range]))
            }
            // Without a power cut all content remains, also after reopening.
            if Bool.random(using: &dice) { file = try open("file") }
            #expect(try content(file) == later)
            try file.synchronise()
            model = later
        }
    }

    @Test func appendingNeedsNoSecondFileBeforeSynchronising() throws {
        let file = try open("file")
        for _ in 0..<100 { try file.write([UInt8](repeating: 1, count: 3000), at: file.size) }
        try file.synchronise()
        try file.write([UInt8](repeating: 2, count: 10 * block), at: UInt64(2 * block))
        #expect(access(folder.path("file.second"), F_OK) == 0)
        let other = try open("other")
        try other.write([UInt8](repeating: 1, count: block), at: 0)
        try other.synchronise()
        // Append whole new blocks.
        try other.write([UInt8](repeating: 1, count: 3 * block), at: UInt64(block))
        #expect(access(folder.path("other.second"), F_OK) != 0)
    }

    @Test func truncationSurvivesPowerCuts() throws {
        var file = try open("file")
        try file.write(Vectors.bytes(3 * block), at: 0)
        try file.synchronise()
        try file.write(Vectors.bytes(3 * block, seed: 2), at: 0)
        try file.synchronise()
        try file.truncate(to: UInt64(block + 5))
        #expect(try content(file) == Array(Vectors.bytes(3 * block, seed: 2)[..<(block + 5)]))
        file = try open("file")
        #expect(try content(file) == Array(Vectors.bytes(3 * block, seed: 2)[..<(block + 5)]))
        try file.truncate(to: UInt64(2 * block))
        file = try open("file")
        #expect(try content(file).dropFirst(block + 5).allSatisfy { $0 == 0 })
    }

    @Test(
        "an interrupted last write drops only its block",
        arguments: [0, 777])
    func killedInTheLastWrite(tail: Int) throws {
        let slot = SealedBlock.slotSize
        let whole = Vectors.bytes(3 * block, seed: 4)
        let file = try open("file")
        try file.write(whole + Vectors.bytes(tail, seed: 5), at: 0)
        let before = bytes("file")
        try file.write(Vectors.bytes(block - 10_000, seed: 6), at: UInt64(3 * block))
        let after = bytes("file")
        // The kernel ends an interrupted write at a page boundary.
        for cut in stride(from: (3 * slot / 4096 + 1) * 4096, to: after.count, by: 4096) {
            try folder.write(Array(after[..<cut] + before.dropFirst(cut)), to: "torn")
            let torn = try open("torn")
            try torn.dropUnfinishedEnd()
            #expect(try content(torn) == whole)
            #expect(torn.size == UInt64(whole.count))
            // It stays so and can be extended.
            try torn.write([1, 2, 3], at: torn.size)
            #expect(try content(open("torn")) == whole + [1, 2, 3])
        }
    }

    @Test func completeLastBlockIsKept() throws {
        for size in [0, 1, block - 1, block, 2 * block + 5] {
            let name = "whole \(size)"
            let model = Vectors.bytes(size, seed: 7)
            try open(name).write(model, at: 0)
            let file = try open(name)
            try file.dropUnfinishedEnd()
            #expect(try content(file) == model)
        }
        // A file that ends in an unwritten range.
        let file = try open("sparse")
        try file.write([1], at: 0)
        try file.truncate(to: UInt64(3 * block + 9))
        try file.dropUnfinishedEnd()
        #expect(file.size == UInt64(3 * block + 9))
    }

    @Test func tornVersionsAreIgnored() throws {
        let model = Vectors.bytes(2 * block, seed: 8)
        let file = try open("file")
        try file.write(model, at: 0)
        try file.synchronise()
        try file.write(Vectors.bytes(100, seed: 9), at: UInt64(block + 50))
        let second = bytes("file.second")
        try folder.write(Array(second.dropLast(8192)), to: "file.second")
        let torn = try open("file")
        try torn.dropUnfinishedEnd()
        #expect(try content(torn) == model)
    }
}
