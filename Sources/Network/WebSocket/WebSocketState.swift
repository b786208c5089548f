import Base
import Posix

/// The state shared between the connection's thread and senders.
final class WebSocketState: Sendable {
    private struct State {
        var messages: [[UInt8]] = []
        var waiting = 0
        var isClosing = false
        var hasEnded = false
    }

    let wakeUp: WakeUp
    private let state = Lock(State())
    private let limit: Int

    /// - Parameter limit: The maximum number of waiting bytes.
    init(_ wakeUp: WakeUp, limit: Int = WebSocketLimits.messageLength) {
        self.wakeUp = wakeUp
        self.limit = limit
    }

    var isClosing: Bool { state.withLock { $0.isClosing } }
    var isOpen: Bool { state.withLock { !$0.isClosing && !$0.hasEnded } }

    func send(_ text: [UInt8]) throws(NetworkError) {
        try state.withLock { state throws(NetworkError) in
            guard !state.isClosing, !state.hasEnded else {
                throw NetworkError(.closed, "The connection is closed.")
            }
            guard state.waiting + text.count <= limit else {
                throw NetworkError(.exhausted, "The server takes no messages at present.")
            }
            state.waiting += text.count
            state.messages.append(text)
        }
        wakeUp.notify()
    }

    func close() {
        state.withLock { $0.isClosing = true }
        wakeUp.notify()
    }

    func end() { state.withLock { $0.hasEnded = true } }

    /// Call when the taken messages have left, so that no more than the limit waits behind them; and at the end.
    func take() -> (messages: [[UInt8]], isClosing: Bool) {
        state.withLock { state in
            defer {
                state.messages = []
                state.waiting = 0
            }
            return (state.messages, state.isClosing)
        }
    }
}
