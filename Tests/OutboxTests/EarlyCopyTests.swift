import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Outbox

/// Long files are encrypted for the core while they are being written.
@Suite struct EarlyCopyTests {
    private func append(_ bytes: [UInt8], to draft: Draft, piece: Int = 50_000) throws {
        for start in stride(from: 0, to: bytes.count, by: piece) {
            let offset = draft.snapshot.size
            try bytes[start..<min(start + piece, bytes.count)].withUnsafeBytes {
                try draft.write($0, at: offset)
            }
        }
    }

    /// Sizes of the files in the staging folder.
    private func staged(_ bench: Workbench) throws -> [UInt64] {
        let staging = try OpenFile(bench.core.stagingFolder, flags: O_RDONLY)
        return try PrivateFolder.names(in: staging).flatMap { folder in
            guard let inner = try? OpenFile(folder, flags: O_RDONLY, in: staging) else { return [UInt64]() }
            return try PrivateFolder.names(in: inner).compactMap {
                try? OpenFile($0, flags: O_RDONLY, in: inner).size()
            }
        }
    }

    @Test func longFileIsCopiedBeforeItsClose() async throws {
        let bench = try Workbench(maxFileSize: 4_000_000)
        let bytes = pattern(900_001)
        let draft = try bench.outbox.create(name: name("long"), in: alice)
        try append(bytes, to: draft)
        try await wait(until: "the copy follows") { try staged(bench).contains { $0 >= 512 << 10 } }
        draft.closed(for: .writing)
        bench.beQuiet()
        #expect(try await bench.messages(1)[0].bytes == bytes)
        #expect(try staged(bench) == [])
    }

    @Test func rewritingBackwardsSendsLastBytes() async throws {
        let bench = try Workbench(maxFileSize: 4_000_000)
        var bytes = pattern(900_000)
        let draft = try bench.outbox.create(name: name("movie"), in: alice)
        try append(bytes, to: draft)
        try await wait(until: "the copy follows") { try staged(bench).contains { $0 >= 256 << 10 } }
        let header = pattern(70_000, seed: 99)
        try header.withUnsafeBytes { try draft.write($0, at: 0) }
        bytes.replaceSubrange(0..<header.count, with: header)
        try append(pattern(200_000, seed: 3), to: draft)
        bytes += pattern(200_000, seed: 3)
        try await wait(until: "the worthless copy is gone") { try staged(bench) == [] }
        draft.closed(for: .writing)
        bench.beQuiet()
        #expect(try await bench.messages(1)[0].bytes == bytes)
    }

    @Test func anyWritesSendLastContent() async throws {
        let bench = try Workbench(maxFileSize: 4_000_000)
        var generator = SeededGenerator(state: 11)
        for round in 1...12 {
            let draft = try bench.outbox.create(name: name("model \(round)"), in: alice)
            var model: [UInt8] = []
            for _ in 0..<8 {
                let seed = UInt8.random(in: 0...255, using: &generator)
                switch Int.random(in: 0..<9, using: &generator) {
                case 0:
                    let size = Int.random(in: 0...model.count + 50_000, using: &generator)
                    try draft.truncate(to: UInt64(size))
                    model = Array(model.prefix(size))
                    model += [UInt8](repeating: 0, count: size - model.count)
                case 1 where !model.isEmpty:
                    let bytes = pattern(50_000, seed: seed)
                    let offset = Int.random(in: 0..<model.count, using: &generator)
                    try bytes.withUnsafeBytes { try draft.write($0, at: UInt64(offset)) }
                    model += [UInt8](repeating: 0, count: max(0, offset + bytes.count - model.count))
                    model.replaceSubrange(offset..<offset + bytes.count, with: bytes)
                case 2:
                    try draft.opened(for: .writing)
                    draft.closed(for: .writing)
                default:
                    let bytes = pattern(
                        Int.random(in: 50_000..<300_000, using: &generator), seed: seed)
                    try append(bytes, to: draft, piece: Int.random(in: 3_000..<60_000, using: &generator))
                    model += bytes
                }
            }
            try append([1], to: draft)
            draft.closed(for: .writing)
            bench.beQuiet()
            let sent = try await bench.messages(round)
            #expect(sent[round - 1].bytes == model + [1], "round \(round)")
        }
        try await wait(until: "nothing is left behind") { try staged(bench) == [] }
    }

    @Test func manyLongFilesArriveWhole() async throws {
        let bench = try Workbench(maxFileSize: 4_000_000)
        let files = (0..<9).map { ("file \($0)", pattern(500_000, seed: UInt8($0))) }
        let drafts = try files.map { try bench.outbox.create(name: name($0.0), in: alice) }
        for start in stride(from: 0, to: 500_000, by: 25_000) {
            for (draft, file) in zip(drafts, files) {
                try append(Array(file.1[start..<start + 25_000]), to: draft)
            }
        }
        for draft in drafts { draft.closed(for: .writing) }
        bench.beQuiet()
        let sent = try await bench.messages(files.count)
        for (text, bytes) in files {
            #expect(sent.first { $0.message.fileName == text }?.bytes == bytes, "\(text)")
        }
    }

    @Test func removedOrLocalFileLeavesNoCopy() async throws {
        let bench = try Workbench(maxFileSize: 4_000_000)
        let removed = try bench.outbox.create(name: name("removed"), in: alice)
        let local = try bench.outbox.create(name: name("download.part"), in: alice)
        for draft in [removed, local] { try append(pattern(600_000), to: draft) }
        try await wait(until: "both are followed") { try staged(bench).filter { $0 >= 256 << 10 }.count == 2 }
        try bench.outbox.remove(removed)
        try append(pattern(600_000), to: removed)
        removed.closed(for: .writing)
        local.closed(for: .writing)
        bench.beQuiet()
        try await wait(until: "no copy is left") { try staged(bench) == [] }
        try bench.outbox.rename(local, to: name("download"))
        bench.beQuiet()
        #expect(try await bench.messages(1)[0].bytes == pattern(600_000))
    }
}
