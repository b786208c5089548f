import CSQLite
import Cryptography
import TestSupport
import Testing

@testable import SealedPages

@Suite("Parts of a sealed database")
struct MemoryFileTests {
    private static func read(_ file: MemoryFile, _ count: Int, at offset: Int64) -> (
        result: Int32, bytes: [UInt8]
    ) {
        var bytes = [UInt8](repeating: 0xEE, count: count)
        let result = bytes.withUnsafeMutableBytes { file.read($0, at: offset) }
        return (result, bytes)
    }

    @Test("memory files behave like files")
    func model() {
        var random = SeededGenerator(state: 9)
        for _ in 0..<40 {
            let file = MemoryFile()
            var model: [UInt8] = []
            for _ in 0..<60 {
                let offset = Int.random(in: 0...300, using: &random)
                let count = Int.random(in: 0...120, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0, 1:
                    let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
                    if offset + count > model.count {
                        model += [UInt8](repeating: 0, count: offset + count - model.count)
                    }
                    model.replaceSubrange(offset..<offset + count, with: bytes)
                    #expect(bytes.withUnsafeBytes { file.write($0, at: Int64(offset)) } == SQLITE_OK)
                case 2:
                    if offset < model.count { model.removeLast(model.count - offset) }
                    #expect(file.truncate(to: Int64(offset)) == SQLITE_OK)
                default:
                    let there = Array(model.dropFirst(offset).prefix(count))
                    let (result, bytes) = Self.read(file, count, at: Int64(offset))
                    #expect(bytes == there + [UInt8](repeating: 0, count: count - there.count))
                    #expect(result == (there.count == count ? SQLITE_OK : SQLITE_IOERR | 2 << 8))
                }
                var size: Int64 = -1
                #expect(file.size(&size) == SQLITE_OK && size == Int64(model.count))
            }
            #expect(file.synchronise(0) == SQLITE_OK && file.control(1, nil) == SQLITE_NOTFOUND)
            file.close()
        }
    }

    @Test("checkpoint records reject unknown states")
    func checkpoints() {
        var content = [UInt8](repeating: 0, count: CheckpointRecord.contentLength)
        let nonce = [UInt8](10..<34)
        for (frames, isFinished) in [(0, false), (1, true), (UInt32.max, false)] as [(UInt32, Bool)] {
            let record = CheckpointRecord(log: LogIdentity(nonce), frames: frames, isFinished: isFinished)
            content.withUnsafeMutableBytes { record.store(to: $0.baseAddress!) }
            #expect(CheckpointRecord(content) == record)
        }
        for word in [0, 3, 4, 255] as [UInt8] {
            content[28] = word
            #expect(CheckpointRecord(content) == nil)
        }
        content[28] = 1
        for place in 29..<32 {
            content[place] = 1
            #expect(CheckpointRecord(content) == nil)
            content[place] = 0
        }
        #expect(CheckpointRecord(content) != nil)
    }

    @Test("log identities are their bytes")
    func identities() {
        let bytes = [UInt8](1...24)
        let identity = LogIdentity(bytes)
        var stored = [UInt8](repeating: 0, count: LogIdentity.length)
        stored.withUnsafeMutableBytes { identity.store(to: $0.baseAddress!) }
        #expect(stored == bytes && identity != LogIdentity.none)
        #expect(LogIdentity([UInt8](repeating: 0, count: 24)) == LogIdentity.none)
        for place in 0..<24 {
            var other = bytes
            other[place] ^= 0x80
            #expect(LogIdentity(other) != identity)
        }
    }

    @Test("records open only at their own place")
    func places() {
        let cipher = RecordCipher(key: SecretBytes(randomCount: 32))
        let log = LogIdentity([UInt8](1...24))
        let content = [UInt8](repeating: 3, count: 100)
        var sealed = [UInt8](repeating: 0, count: content.count + RecordCipher.overhead)
        var opened = [UInt8](repeating: 0, count: content.count)
        func opens(_ place: RecordPlace) -> Bool {
            sealed.withUnsafeBytes { cipher.open($0, as: place, into: &opened) }
        }
        let place = RecordPlace(kind: .framePage, number: 7, log: log)
        #expect(content.withUnsafeBytes { cipher.seal($0, as: place, into: &sealed) })
        #expect(opens(place) && opened == content)
        for kind in RecordPlace.Kind.allCases where kind != .framePage {
            #expect(!opens(RecordPlace(kind: kind, number: 7, log: log)))
        }
        for number in [0, 6, 8, 7 << 32, .max] as [UInt64] {
            #expect(!opens(RecordPlace(kind: .framePage, number: number, log: log)))
        }
        #expect(!opens(RecordPlace(kind: .framePage, number: 7)))
        #expect(opened.allSatisfy { $0 == 0 })
        // Too few bytes for a record.
        for count in [0, 1, RecordCipher.overhead - 1] {
            let short = Array(sealed.prefix(count))
            #expect(!short.withUnsafeBytes { cipher.open($0, as: place, into: &opened) })
        }
    }
}
