import Glibc
import Posix
import TestSupport
import Testing

@testable import XFTP

@Suite("Memory for chunks")
struct ChunkMemoryTests {
    @Test(
        "a buffer has the requested capacity",
        arguments: [0, 1, 4095, 65_536, 4 << 20, (4 << 20) + 1])
    func capacity(size: Int) {
        let buffer = ChunkBuffer(capacity: size)
        #expect(buffer.capacity == max(size, 1) && buffer.count == 0 && buffer.bytes.count == 0)
        buffer.storage[buffer.capacity - 1] = 7
        buffer.count = buffer.capacity
        #expect(buffer.bytes[buffer.capacity - 1] == 7)
        let other = ChunkBuffer(capacity: buffer.capacity + 10)
        other.copy(buffer)
        #expect(other.count == buffer.count && other.bytes.last == 7)
    }

    @Test("pages appear beneath bytes without changing them")
    func pages() async throws {
        let buffer = ChunkBuffer(capacity: 4 << 20)
        for start in stride(from: 0, to: 4 << 20, by: 8192) {
            buffer.storage[start] = UInt8(start >> 13 & 255)
        }
        buffer.populate(4 << 20)
        buffer.populate(4 << 20)
        // Jobs of the pool that were submitted earlier have begun.
        for _ in 0..<64 { await ThreadPool.shared.run {} }
        for start in stride(from: 0, to: 4 << 20, by: 8192) {
            #expect(buffer.storage[start] == UInt8(start >> 13 & 255) && buffer.storage[start + 1] == 0)
        }
    }

    /// The length of pages in memory.
    private func resident(_ buffer: ChunkBuffer) -> Int {
        var pages = [UInt8](repeating: 0, count: buffer.capacity / Int(getpagesize()))
        guard mincore(buffer.storage.baseAddress, buffer.capacity, &pages) == 0 else { return 0 }
        return pages.count { $0 & 1 == 1 } * Int(getpagesize())
    }

    @Test("buffers for silent relays take little memory")
    func silentRelays() async throws {
        var buffers = (0..<64).map { _ in ChunkBuffer(capacity: 4 << 20) }
        for buffer in buffers { buffer.populate(4 << 20) }
        for _ in 0..<64 { await ThreadPool.shared.run {} }
        #expect(buffers.reduce(0) { $0 + resident($1) } <= 24 << 20)
        // The first bytes and the end of a buffer make way for others.
        for buffer in buffers { buffer.count = 1 }
        buffers = []
        let next = ChunkBuffer(capacity: 4 << 20)
        next.populate(4 << 20)
        try await wait(until: "it has its pages") { resident(next) == 4 << 20 }
    }

    @Test("the pool limits buffers, and cancelled waits take none")
    func pool() async throws {
        let pool = ChunkBufferPool(count: 2, capacity: 10)
        let (first, second) = (try await pool.take(), try await pool.take())
        let impatient = Task { try await pool.take() }
        let patient = Task { try await pool.take() }
        impatient.cancel()
        await #expect(throws: XFTPError.self) { try await impatient.value }
        first.count = 5
        pool.give(first)
        let third = try await patient.value
        #expect(third === first && third.count == 0, "it is empty again")
        pool.grow(by: 1)
        let fourth = try await pool.take()
        #expect(fourth !== first && fourth !== second && fourth.capacity == 10)
        // A cancelled task gets no buffer.
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await pool.take()
        }
        await #expect(throws: XFTPError.self) { try await late.value }
    }

    @Test("unconfirmed bytes count three quarters")
    func progress() {
        var generator = SeededGenerator(state: 57)
        for _ in 0..<200 {
            let size = Int.random(in: 1...100_000, using: &generator)
            let part = UnconfirmedBytes()
            var (left, counted) = (0, 0)
            for _ in 0..<Int.random(in: 1...20, using: &generator) {
                let step = Int.random(in: 0...(size - left), using: &generator)
                left += step
                counted += part.left(step)
                #expect(counted == left / 4 * 3 && counted <= size)
                if Int.random(in: 0..<4, using: &generator) == 0 {
                    counted += part.left(-left)
                    left = 0
                    #expect(counted == 0)
                }
            }
            counted += part.confirmed(size)
            #expect(counted == size)
        }
    }
}
