import Base
import TestSupport
import Testing

@testable import Hydration

/// Bytes prepared ahead equal the bytes of a read.
@Suite(.timeLimit(.minutes(10))) struct DecryptedAheadTests {
    private static let size: UInt64 = 10 << 20
    private static let piece = 128 << 10

    /// A stored file that fills a buffer, short at the end, and counts reads.
    private final class Stored: Sendable {
        let bytesMade = Lock(0)

        func decrypt(_ buffer: UnsafeMutableRawBufferPointer, _ offset: UInt64) -> Int {
            guard offset < size else { return 0 }
            let count = Int(min(UInt64(buffer.count), size - offset))
            Pattern.fill(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at: offset, seed: 9)
            bytesMade.withLock { $0 += count }
            return count
        }

        /// Reads like `WholeContent`. Returns the number of prepared bytes.
        func read(_ range: Range<UInt64>, ahead: DecryptedAhead) -> (bytes: [UInt8], ready: Int) {
            var ready = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
                let target = UnsafeMutableRawBufferPointer(buffer)
                switch ahead.take(into: target, at: range.lowerBound) {
                case .whole(let whole):
                    ready = whole.bytes.count
                    target.copyMemory(from: whole.bytes)
                case .copied(let count): ready = count
                }
                let rest = UnsafeMutableRawBufferPointer(rebasing: target[ready...])
                count = ready + decrypt(rest, range.lowerBound + UInt64(ready))
            }
            return (bytes, ready)
        }
    }

    @Test func sequentialReaderFindsNextPieceReady() {
        let (stored, ahead) = (Stored(), DecryptedAhead())
        var ready = 0
        for start in stride(from: 0, to: Self.size, by: Self.piece) {
            let range = start..<min(start + UInt64(Self.piece), Self.size)
            let answer = stored.read(range, ahead: ahead)
            #expect(answer.bytes == Pattern.bytes(range, seed: 9))
            ready += answer.ready
            ahead.prepare(decrypt: stored.decrypt)
        }
        // All but the first pieces, and none was prepared twice.
        #expect(ready >= Int(Self.size) - 4 * Self.piece)
        #expect(stored.bytesMade.withLock { $0 } == Int(Self.size))
    }

    @Test func heldReplyBytesStayUnchanged() throws {
        let (stored, ahead) = (Stored(), DecryptedAhead())
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.piece, alignment: 1)
        defer { memory.deallocate() }
        var held: [(range: Range<UInt64>, bytes: any ReadyBytes)] = []
        for number in 0..<8 {
            let range = UInt64(number * Self.piece)..<UInt64((number + 1) * Self.piece)
            if case .whole(let bytes) = ahead.take(into: memory, at: range.lowerBound) {
                held.append((range, bytes))
            }
            ahead.prepare(decrypt: stored.decrypt)
        }
        // All but the first two.
        #expect(held.count == 6)
        ahead.forget()
        for start in stride(from: 0, to: Self.size, by: Self.piece) {
            _ = stored.read(start..<start + UInt64(Self.piece), ahead: ahead)
            ahead.prepare(decrypt: stored.decrypt)
        }
        for (range, bytes) in held { #expect(Array(bytes.bytes) == Pattern.bytes(range, seed: 9)) }
    }

    /// In its own process, because the memory is shared by all readers.
    @Test func memoryIsFreedWithLastReply() async {
        await #expect(processExitsWith: .success) {
            let (stored, ahead) = (Stored(), DecryptedAhead())
            let length = DecryptedAheadTests.piece
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 1)
            var held: (any ReadyBytes)?
            for number in 0..<5 {
                if case .whole(let bytes) = ahead.take(into: memory, at: UInt64(number * length)) {
                    held = bytes
                }
                ahead.prepare(decrypt: stored.decrypt)
            }
            ahead.forget()
            #expect(held != nil && DecryptedAhead.bytesHeld > 0)
            held = nil
            #expect(DecryptedAhead.bytesHeld == 0)
        }
    }

    @Test func preparedBytesEndWithTheirReader() {
        let (stored, ahead) = (Stored(), DecryptedAhead())
        func read(_ number: Int) -> Int {
            let start = UInt64(number * Self.piece)
            defer { ahead.prepare(decrypt: stored.decrypt) }
            return stored.read(start..<start + UInt64(Self.piece), ahead: ahead).ready
        }
        for number in 0..<4 { _ = read(number) }
        #expect(read(4) == Self.piece)
        ahead.forget()
        // Nothing is prepared for it afterwards.
        ahead.prepare(decrypt: stored.decrypt)
        #expect(read(5) == 0)
    }

    @Test func randomReadsCostNothingMore() {
        let (stored, ahead) = (Stored(), DecryptedAhead())
        var dice = Dice(seed: 11)
        for _ in 0..<200 {
            let start = UInt64.random(in: 0..<Self.size - 4096, using: &dice)
            _ = stored.read(start..<start + 4096, ahead: ahead)
            ahead.prepare(decrypt: stored.decrypt)
        }
        #expect(stored.bytesMade.withLock { $0 } == 200 * 4096)
    }

    @Test func bytesAreRightAfterJumps() {
        let (stored, ahead) = (Stored(), DecryptedAhead())
        var dice = Dice(seed: 12)
        var position: UInt64 = 0
        for _ in 0..<600 {
            if Int.random(in: 0..<8, using: &dice) == 0 {
                position = .random(in: 0..<Self.size, using: &dice)
            }
            let length: UInt64 = [4096, 4096, 65_536, 131_072, 131_072, 1 << 20].randomElement(using: &dice)!
            let range = position..<min(position + length, Self.size)
            #expect(stored.read(range, ahead: ahead).bytes == Pattern.bytes(range, seed: 9))
            if Bool.random(using: &dice) { ahead.prepare(decrypt: stored.decrypt) }
            position = range.upperBound == Self.size ? 0 : range.upperBound
        }
    }

    @Test func concurrentReadersGetTheirBytes() async {
        let (stored, ahead) = (Stored(), DecryptedAhead())
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var isRight = true
                    for start in stride(from: 0, to: Self.size, by: Self.piece) {
                        let range = start..<min(start + UInt64(Self.piece), Self.size)
                        isRight =
                            isRight && stored.read(range, ahead: ahead).bytes == Pattern.bytes(range, seed: 9)
                        ahead.prepare(decrypt: stored.decrypt)
                    }
                    return isRight
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }

    @Test func failedReadAheadFallsBackToReading() {
        struct Broken: Error {}
        let (stored, ahead) = (Stored(), DecryptedAhead())
        for number in 0..<20 {
            let range = UInt64(number * Self.piece)..<UInt64((number + 1) * Self.piece)
            let answer = stored.read(range, ahead: ahead)
            #expect(answer.ready == 0)
            #expect(answer.bytes == Pattern.bytes(range, seed: 9))
            ahead.prepare { _, _ in throw Broken() }
        }
    }
}
