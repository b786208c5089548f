import TestSupport
import Testing

@testable import Network

@Suite("Queues of bytes")
struct ByteQueueTests {
    private static func append(_ bytes: [UInt8], to queue: ByteQueue) {
        bytes.withUnsafeBytes { queue.append($0) }
    }

    @Test("a queue behaves as an array")
    func model() throws {
        for capacity in [1, 7, 64] {
            var generator = SeededGenerator(state: UInt64(capacity))
            let queue = ByteQueue(capacity: capacity)
            var model: [UInt8] = []
            for step in 0..<2000 {
                let count = Int.random(in: 0...40, using: &generator)
                let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
                switch Int.random(in: 0..<10, using: &generator) {
                case 0..<4:
                    Self.append(bytes, to: queue)
                    model += bytes
                case 4..<6:
                    // Fewer bytes are written than announced.
                    let written = Int.random(in: 0...count, using: &generator)
                    let answer = queue.append(upTo: count) { place in
                        #expect(place.count == count)
                        place.copyBytes(from: bytes.prefix(written))
                        return written
                    }
                    #expect(answer == written)
                    model += bytes.prefix(written)
                case 6..<9:
                    queue.removeFirst(count)
                    model.removeFirst(min(count, model.count))
                default:
                    if step % 50 == 0 {
                        queue.removeAll()
                        model = []
                    }
                }
                #expect(queue.count == model.count && queue.isEmpty == model.isEmpty)
                #expect(Array(queue.bytes) == model)
            }
        }
    }

    @Test("memory is reused and grows only when needed")
    func capacity() {
        let queue = ByteQueue(capacity: 10)
        #expect(queue.freeCapacity == 10)
        Self.append([1, 2, 3, 4, 5, 6, 7, 8], to: queue)
        queue.removeFirst(6)
        #expect(queue.freeCapacity == 2)
        // Removed bytes leave space without more memory.
        Self.append([9, 10, 11, 12, 13, 14, 15, 16], to: queue)
        #expect(queue.freeCapacity == 0 && Array(queue.bytes) == [7, 8, 9, 10, 11, 12, 13, 14, 15, 16])
        queue.removeFirst(10)
        #expect(queue.freeCapacity == 10)
        Self.append([UInt8](repeating: 1, count: 11), to: queue)
        #expect(queue.count == 11 && queue.freeCapacity == 9)
    }

    @Test("a failed write adds no bytes")
    func failed() {
        struct Broken: Error {}
        let queue = ByteQueue(capacity: 4)
        Self.append([1], to: queue)
        #expect(throws: Broken.self) { try queue.append(upTo: 100) { _ in throw Broken() } }
        #expect(Array(queue.bytes) == [1])
    }

    @Test("an impossible count traps")
    func lies() async {
        await #expect(processExitsWith: .failure) { _ = ByteQueue(capacity: 4).append(upTo: 4) { _ in 5 } }
        await #expect(processExitsWith: .failure) { _ = ByteQueue(capacity: 4).append(upTo: 4) { _ in -1 } }
    }

    @Test("concatenated bodies are read in any pieces")
    func bodies() throws {
        for size in 1...12 {
            let body = JoinedBody([
                BytesBody([1, 2, 3]), BytesBody([]), BytesBody([4]), BytesBody([5, 6, 7, 8, 9, 10]),
            ])
            #expect(body.length == 10)
            var given: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: size)
            while given.count < body.length {
                let count = try buffer.withUnsafeMutableBytes { try body.read(into: $0, at: given.count) }
                try #require(count > 0 && count <= size)
                given += buffer.prefix(count)
            }
            #expect(given == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
            #expect(try buffer.withUnsafeMutableBytes { try body.read(into: $0, at: 10) } == 0)
        }
        #expect(JoinedBody([]).length == 0)
    }

    @Test("answers above the limit fail")
    func collected() throws {
        let body = CollectedBody(limit: 5)
        func give(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try body.receive($0) } }
        try give([1, 2])
        try give([])
        try give([3, 4, 5])
        let error = #expect(throws: NetworkError.self) { try give([6]) }
        #expect(error?.sentence == "The answer is longer than 5 bytes." && error?.code == .protocolViolation)
        #expect(body.bytes == [1, 2, 3, 4, 5])
    }

    @Test("waits fit their deadline and poll(2)")
    func deadlines() {
        #expect(Deadline(after: .zero).hasPassed && Deadline(after: .zero).milliseconds == 0)
        #expect(Deadline(after: .seconds(-5)).milliseconds == 0)
        let hour = Deadline(after: .seconds(3600))
        #expect(!hour.hasPassed && hour.milliseconds > 3_500_000 && hour.milliseconds <= 3_600_001)
        #expect(Deadline(after: .seconds(10_000_000)).milliseconds == .max)
        #expect(Deadline(after: .nanoseconds(999_999_999_999)).milliseconds > 0)
        #expect(hour < Deadline(after: .seconds(7200)) && Deadline(after: .zero) < hour)
        // Attempts share the remaining time; the last has all of it.
        let (half, whole) = (hour.share(of: 2), hour.share(of: 1))
        #expect(half.milliseconds < 1_800_002 && half.milliseconds > 1_700_000)
        #expect(half < hour && whole.milliseconds > 3_500_000)
        #expect(hour.share(of: 0).milliseconds > 3_500_000)
    }
}
