import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Network

@Suite("A WebSocket over a real connection", .timeLimit(.minutes(10)))
struct WebSocketConnectionTests {
    private func connect(
        to endpoint: Endpoint, _ listener: HeardMessages, timeout: Duration = .seconds(30)
    ) async throws(NetworkError) -> WebSocketClient {
        try await WebSocketClient.connect(to: endpoint, timeout: timeout, listener: listener)
    }

    @Test("texts arrive in order in both directions")
    func texts() async throws {
        let endpoint = try WebSocketPeer.serving { peer in
            // Echoes until a close frame, and answers that.
            while case let frame = try peer.hearFrame() {
                try peer.say(WebSocketPeer.frame(frame.opcode, frame.payload))
                if frame.opcode == 8 { return }
            }
        }
        // Sent before the server waits.
        let texts = [0, 1, 125, 126, 65_535, 65_536, 300_000].map { [UInt8](repeating: 0x61, count: $0) }
        let listener = HeardMessages()
        let client = try await connect(to: endpoint, listener)
        #expect(client.isOpen)
        for text in texts { try client.send(text) }
        try await wait(until: "all come back") { listener.messages.count == texts.count }
        #expect(listener.messages == texts && listener.errors.isEmpty)
        client.close()
        #expect(!client.isOpen)
        #expect(try await listener.end().code == .closed)
        #expect(throws: NetworkError.self) { try client.send([1]) }
        #expect(listener.errors.count == 1, "the end is told once")
    }

    @Test("queued messages leave before the close frame")
    func lastWords() async throws {
        let heard = Lock<[UInt8]>([])
        let endpoint = try WebSocketPeer.serving { peer in
            while case let frame = try peer.hearFrame(), frame.opcode != 8 {
                heard.withLock { $0 += frame.payload }
            }
            try peer.say(WebSocketPeer.frame(8))
        }
        let listener = HeardMessages()
        let client = try await connect(to: endpoint, listener)
        for byte in UInt8(0)..<100 { try client.send([byte]) }
        client.close()
        _ = try await listener.end()
        #expect(heard.withLock { $0 } == Array(UInt8(0)..<100))
    }

    @Test("a server that reads nothing has a bounded queue")
    func unreadMessages() async throws {
        let mayRead = Lock(false)
        let heard = Lock(0)
        let endpoint = try WebSocketPeer.serving { peer in
            while !mayRead.withLock({ $0 }) { usleep(10_000) }
            while try peer.skipFrame() == 1 { heard.withLock { $0 += 1 } }
            try peer.say(WebSocketPeer.frame(8))
        }
        let limit = 1 << 20
        let shared = WebSocketState(try WakeUp(), limit: limit)
        let listener = HeardMessages()
        let isOpen = Lock(false)
        Thread.start("websocket") {
            do throws(NetworkError) {
                var connection = try WebSocketConnection.establish(
                    endpoint, deadline: Deadline(after: .seconds(30)), shared: shared)
                isOpen.withLock { $0 = true }
                listener.ended(connection.run(listener))
            } catch {
                listener.ended(error)
            }
        }
        try await wait(until: "it is open") { isOpen.withLock { $0 } }
        let message = [UInt8](repeating: 0x61, count: limit / 4)
        // Twice the limit waits in the connection and before it; the kernels hold some megabytes more.
        let tooMuch = 64 * limit / message.count
        let given = await ThreadPool.shared.run {
            var (given, refusals) = (0, 0)
            while given < tooMuch, refusals < 50 {
                do throws(NetworkError) {
                    try shared.send(message)
                    (given, refusals) = (given + 1, 0)
                } catch {
                    #expect(error.code == .exhausted)
                    refusals += 1
                    usleep(10_000)
                }
            }
            return given
        }
        #expect(given >= 4 && given < tooMuch, "\(given) messages")
        mayRead.withLock { $0 = true }
        // On a busy machine the kernel may have closed the connection (`PeerWatch`).
        try await wait(until: "all are heard") {
            heard.withLock { $0 } == given
                || listener.errors.contains { $0.code == .timeout }
        }
        shared.close()
        let end = try await listener.end().code
        #expect(end == .closed || end == .timeout)
    }

    @Test("pings are answered with their payload")
    func pings() async throws {
        let answers = Lock<[[UInt8]]>([])
        let endpoint = try WebSocketPeer.serving { peer in
            try peer.say(WebSocketPeer.frame(1, Array("a".utf8), isFinal: false))
            for text in ["", "hello", String(repeating: "p", count: 125)] {
                try peer.say(WebSocketPeer.frame(9, Array(text.utf8)))
                let (opcode, payload) = try peer.hearFrame()
                if opcode == 10 { answers.withLock { $0.append(payload) } }
            }
            try peer.say(WebSocketPeer.frame(10) + WebSocketPeer.frame(0, Array("b".utf8)))
            try peer.say(WebSocketPeer.frame(8))
            try peer.hearTheEnd()
        }
        let listener = HeardMessages()
        let client = try await connect(to: endpoint, listener)
        _ = try await listener.end()
        #expect(answers.withLock { $0.map(\.count) } == [0, 5, 125])
        #expect(listener.messages == [Array("ab".utf8)])
        #expect(!client.isOpen)
    }

    @Test(
        "only the latest ping of a flood is answered"
    )
    func endlessPings() async throws {
        let (count, many) = (100, 1000)
        let pongs = Lock<Int?>(nil)
        let last = Lock<[UInt8]>([])
        let endpoint = try WebSocketPeer.serving { peer in
            peer.keepLittle()
            let ping = WebSocketPeer.frame(9, [UInt8](repeating: 0x70, count: 125))
            let pings = Array(repeatElement(ping, count: many).joined())
            for _ in 0..<count { try peer.say(pings) }
            try peer.say(WebSocketPeer.frame(9, Array("last".utf8)))
            // More than all kernel buffers hold was sent, and nothing was read until now.
            var heard = 0
            while case let frame = try peer.hearFrame() {
                guard frame.opcode == 10 else { break }
                heard += 1
                last.withLock { $0 = frame.payload }
                if frame.payload == Array("last".utf8) { break }
            }
            pongs.withLock { $0 = heard }
            try peer.say(WebSocketPeer.frame(8))
            try peer.hearTheEnd()
        }
        let listener = HeardMessages()
        let client = try await connect(to: endpoint, listener)
        _ = try await listener.end()
        let heard = try #require(pongs.withLock { $0 })
        #expect(heard > 0 && heard < count * many / 2, "\(heard) answers")
        #expect(last.withLock { $0 } == Array("last".utf8))
        withExtendedLifetime(client) {}
    }

    @Test("simultaneous pings get one answer before the close frame")
    func manyPings() async throws {
        let heard = Lock<[(UInt8, [UInt8])]>([])
        let endpoint = try WebSocketPeer.accepting { peer in
            let answer = WebSocketPeer.answer(to: try peer.hearKey())
            let pings = (UInt8(0)..<50).flatMap { WebSocketPeer.frame(9, [$0]) }
            try peer.say(answer + pings + WebSocketPeer.frame(1, [7]) + WebSocketPeer.frame(8))
            for _ in 0..<100 {
                let frame = try peer.hearFrame()
                heard.withLock { $0.append(frame) }
                if frame.0 == 8 { break }
            }
            try peer.hearTheEnd()
        }
        let listener = HeardMessages()
        let client = try await connect(to: endpoint, listener)
        #expect(try await listener.end().code == .closed)
        try await wait(until: "the server has heard a goodbye") { heard.withLock { $0.last?.0 } == 8 }
        let pongs = heard.withLock { $0.filter { $0.0 == 10 }.map(\.1) }
        // In pieces of any size.
        #expect(pongs.last == [49] && pongs.count <= 50)
        #expect(listener.messages == [[7]])
        withExtendedLifetime(client) {}
    }

    @Test("a close frame is answered and ends the messages")
    func goodbye() async throws {
        let last = Lock<UInt8?>(nil)
        let endpoint = try WebSocketPeer.serving { peer in
            try peer.say(
                WebSocketPeer.frame(1, [1]) + WebSocketPeer.frame(8, [3, 232]) + WebSocketPeer.frame(1, [2])
                    + [0xFF, 0xFF, 0xFF])
            let frame = try peer.hearFrame()
            last.withLock { $0 = frame.opcode }
            try peer.hearTheEnd()
        }
        let listener = HeardMessages()
        let client = try await connect(to: endpoint, listener)
        #expect(try await listener.end().code == .closed)
        #expect(listener.messages == [[1]])
        try await wait(until: "the server has heard it") { last.withLock { $0 } == 8 }
        withExtendedLifetime(client) {}
    }

    @Test("violations end the connection after earlier messages")
    func violation() async throws {
        let endpoint = try WebSocketPeer.serving { peer in
            try peer.say(WebSocketPeer.frame(1, [1]) + WebSocketPeer.frame(2, [2]) + [0x83, 0])
            try peer.hearTheEnd()
        }
        let listener = HeardMessages()
        let client = try await connect(to: endpoint, listener)
        #expect(try await listener.end().code == .protocolViolation)
        #expect(listener.messages == [[1], [2]])
        #expect(throws: NetworkError.self) { try client.send([1]) }
    }

    @Test("messages may follow the handshake at once")
    func early() async throws {
        let endpoint = try WebSocketPeer.accepting { peer in
            let answer = WebSocketPeer.answer(to: try peer.hearKey())
            try peer.say(answer + WebSocketPeer.frame(1, [1]) + [0x81])
            try peer.say([1, 2])
            peer.hangUp()
        }
        let listener = HeardMessages()
        let client = try await connect(to: endpoint, listener)
        #expect(try await listener.end().code == .closed)
        #expect(listener.messages == [[1], [2]])
        withExtendedLifetime(client) {}
    }

    @Test("a truncated handshake is an error")
    func cutHandshake() async throws {
        let length = WebSocketPeer.answer(to: "").count
        for end in [0, 1, 12, length / 2, length - 1] {
            let endpoint = try WebSocketPeer.accepting { peer in
                let answer = WebSocketPeer.answer(to: try peer.hearKey())
                try peer.say(Array(answer.prefix(end)))
                peer.hangUp()
            }
            let listener = HeardMessages()
            #expect(await failure { try await connect(to: endpoint, listener) } == .closed)
            #expect(listener.messages.isEmpty && listener.errors.isEmpty)
        }
    }

    @Test("a truncated message is not delivered")
    func cutMessage() async throws {
        let frame = WebSocketPeer.frame(1, [UInt8](repeating: 7, count: 200))
        for end in [1, 2, 3, 4, 100, frame.count - 1, frame.count] {
            let endpoint = try WebSocketPeer.serving { peer in
                try peer.say(Array(frame.prefix(end)))
                peer.hangUp()
            }
            let listener = HeardMessages()
            let client = try await connect(to: endpoint, listener)
            #expect(try await listener.end().code == .closed)
            #expect(listener.messages.count == (end == frame.count ? 1 : 0))
            withExtendedLifetime(client) {}
        }
    }

    @Test("an answer to another key is refused")
    func wrongKey() async throws {
        let endpoint = try WebSocketPeer.accepting { peer in
            _ = try peer.hearKey()
            try peer.say(WebSocketPeer.answer(to: "dGhlIHNhbXBsZSBub25jZQ=="))
            try peer.hearTheEnd()
        }
        let error = await #expect(throws: NetworkError.self) {
            _ = try await connect(to: endpoint, HeardMessages())
        }
        #expect(error?.code == .handshake)
    }

    @Test("connecting ends at its deadline or with its task")
    func silence() async throws {
        let silent = try WebSocketPeer.accepting { try $0.hearTheEnd() }
        let error = await #expect(throws: NetworkError.self) {
            _ = try await connect(to: silent, HeardMessages(), timeout: .milliseconds(50))
        }
        #expect(error?.code == .timeout)
        let other = try WebSocketPeer.accepting { try $0.hearTheEnd() }
        let waiting = Task { await failure { try await connect(to: other, HeardMessages()) } }
        waiting.cancel()
        #expect(await waiting.value == .cancelled)
    }

    @Test("no more than the longest message may wait")
    func waiting() throws {
        let state = WebSocketState(try WakeUp())
        let half = [UInt8](repeating: 1, count: WebSocketLimits.messageLength / 2)
        try state.send(half)
        try state.send(half)
        let full = #expect(throws: NetworkError.self) { try state.send([1]) }
        #expect(full?.code == .exhausted && full?.sentence == "The server takes no messages at present.")
        #expect(state.isOpen && state.take().messages.map(\.count) == [half.count, half.count])
        try state.send([2])
        state.close()
        let closed = #expect(throws: NetworkError.self) { try state.send([3]) }
        #expect(closed?.code == .closed && !state.isOpen)
        let (messages, isClosing) = state.take()
        #expect(messages == [[2]] && isClosing)
    }

    @Test("releasing the client closes the connection")
    func letGo() async throws {
        let endpoint = try WebSocketPeer.serving { peer in
            while try peer.hearFrame().opcode != 8 {}
            try peer.say(WebSocketPeer.frame(8))
        }
        let listener = HeardMessages()
        var client: WebSocketClient? = try await connect(to: endpoint, listener)
        #expect(client != nil)
        client = nil
        #expect(try await listener.end().code == .closed)
    }
}
