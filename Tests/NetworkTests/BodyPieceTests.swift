import Base
import TestSupport
import Testing

@testable import Network

/// Concatenated bodies, and limits for frames without payload.
@Suite("Bodies in pieces")
struct BodyPieceTests {
    /// Returns at most three bytes at once.
    private final class Trickle: BodySource {
        private let bytes: [UInt8]

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        var length: Int { bytes.count }

        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
            let piece = bytes[offset..<min(offset + min(3, buffer.count), bytes.count)]
            buffer.copyBytes(from: piece)
            return piece.count
        }
    }

    /// Reads all of a body in pieces of any size.
    private static func all(of body: some BodySource, _ generator: inout SeededGenerator) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < body.length {
            var piece = [UInt8](repeating: 0, count: Int.random(in: 1...50, using: &generator))
            let count = try piece.withUnsafeMutableBytes { try body.read(into: $0, at: bytes.count) }
            guard count > 0 else { break }
            bytes += piece.prefix(count)
        }
        return bytes
    }

    @Test("concatenated bodies read as one")
    func joined() throws {
        var generator = SeededGenerator(state: 61)
        for _ in 0..<300 {
            let parts = (0..<Int.random(in: 0...6, using: &generator)).map { _ in
                (0..<Int.random(in: 0...80, using: &generator)).map { _ in
                    UInt8.random(in: 0...255, using: &generator)
                }
            }
            let sources: [any BodySource] = parts.map { part -> any BodySource in
                if part.count.isMultiple(of: 2) { BytesBody(part) } else { Trickle(part) }
            }
            let body = JoinedBody(sources)
            #expect(body.length == parts.reduce(0) { $0 + $1.count })
            #expect(try Self.all(of: body, &generator) == parts.flatMap(\.self))
            var rest = [UInt8](repeating: 0, count: 10)
            let count = try rest.withUnsafeMutableBytes { try body.read(into: $0, at: body.length) }
            #expect(count == 0, "nothing is left")
        }
    }

    @Test("collected bodies have a limit")
    func collected() throws {
        func give(_ count: Int, to body: CollectedBody) throws {
            try [UInt8](repeating: 7, count: count).withUnsafeBytes { try body.receive($0) }
        }
        let body = CollectedBody(limit: 10)
        for count in [0, 4, 6, 0] { try give(count, to: body) }
        #expect(body.bytes.count == 10)
        let error = #expect(throws: NetworkError.self) { try give(1, to: body) }
        #expect(error?.code == .protocolViolation && error?.sentence == "The answer is longer than 10 bytes.")
        #expect(body.bytes.count == 10)
        #expect(throws: NetworkError.self) { try give(1, to: CollectedBody(limit: 0)) }
        try give(0, to: CollectedBody(limit: 0))
    }

    @Test("four thousand empty frames are allowed")
    func allowance() {
        var allowance = FrameAllowance()
        var taken = (0..<4002).map { _ in allowance.take(frameThatCarries: false) }
        // One more than allowed, until a frame has payload again.
        #expect(taken == Array(repeating: true, count: 4000) + [false, false])
        taken = [allowance.take(frameThatCarries: true), allowance.take(frameThatCarries: false)]
        #expect(taken == [true, true])
    }

    @Test("credit never exceeds its start", arguments: 0..<3)
    func saved(kind: Int) {
        var allowance = FrameAllowance()
        for _ in 0..<10_000 {
            switch kind {
            case 0: _ = allowance.take(frameThatCarries: true)
            case 1: allowance.take(bytesSent: 1 << 20)
            default: allowance.replenish(1000)
            }
        }
        var left = 0
        while allowance.take(frameThatCarries: false) { left += 1 }
        #expect(left == 4000)
        // Sent data permits an update for each KiB, and one more.
        allowance.replenish(1)
        allowance.take(bytesSent: 10 * 1024)
        left = 0
        while allowance.take(frameThatCarries: false) { left += 1 }
        #expect(left == 11)
    }

    @Test("queued messages share a limit and keep their order")
    func waitingMessages() async throws {
        let state = WebSocketState(try .init(), limit: 100)
        #expect(state.isOpen)
        for size in [60, 40, 0] { try state.send([UInt8](repeating: UInt8(size), count: size)) }
        let refused = #expect(throws: NetworkError.self) { try state.send([1]) }
        #expect(refused?.code == .exhausted)
        #expect(state.take().messages.map(\.count) == [60, 40, 0])
        try state.send([UInt8](repeating: 1, count: 100))
        #expect(throws: NetworkError.self) { try state.send([UInt8](repeating: 1, count: 101)) }
        // Messages before the end still leave, and none after it.
        state.close()
        #expect(!state.isOpen && state.isClosing)
        let closed = #expect(throws: NetworkError.self) { try state.send([]) }
        #expect(closed?.code == .closed)
        let last = state.take()
        #expect(last.messages.map(\.count) == [100] && last.isClosing)
        let ended = WebSocketState(try .init(), limit: 100)
        ended.end()
        #expect(throws: NetworkError.self) { try ended.send([1]) }
    }

    @Test("concurrent senders lose and repeat no message")
    func sendersAtOnce() async throws {
        let state = WebSocketState(try .init(), limit: 1 << 20)
        await withTaskGroup(of: Void.self) { group in
            for sender in 0..<8 {
                group.addTask { for number in 0..<100 { try? state.send([UInt8(sender), UInt8(number)]) } }
            }
        }
        let messages = state.take().messages
        #expect(messages.count == 800 && Set(messages).count == 800)
        for sender in 0..<8 {
            #expect(messages.filter { $0[0] == UInt8(sender) }.map { $0[1] } == Array(0..<100), "in order")
        }
    }
}
