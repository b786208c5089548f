import Base
import Cryptography
import Posix
import SMP

/// One connection as the service knows it: what waits to be said to it, and how much more may.
///
/// The service tells, the connection's thread takes. Bodies of messages are made only when they fit, so
/// who has subscribed to ten thousand queues and reads nothing costs no more than who has one.
final class Client: Sendable {
    /// Something to say, in the order in which it happened.
    struct Message: Sendable {
        enum Content: Sendable {
            case answer(Answer)
            /// To be boxed on the connection's thread.
            case delivery(StoredMessage, boxSecret: WipedBytes)
        }

        /// Empty where nobody asked.
        let correlationID: [UInt8]
        let entityID: [UInt8]
        let content: Content
        /// false of what the relay says by itself.
        let isAnswer: Bool
    }

    private struct State {
        var messages: [Message] = []
        /// Deliveries that are reserved, or wait to be taken.
        var deliveries = 0
        /// A delivery was put off for want of capacity.
        var isStarved = false
        /// Commands without an answer.
        var unanswered = 0
        /// One of its commands was authorised by a key that belongs to a queue here.
        var isKnown = false
    }

    /// Bodies of 16 KiB that may wait for a connection.
    private static let maxDeliveries = 8

    private let state = Lock(State())
    private let wakeUp: WakeUp
    let number: UInt64

    init(number: UInt64, wakeUp: WakeUp) {
        self.number = number
        self.wakeUp = wakeUp
    }

    // MARK: The service

    /// Reserves capacity for one delivery; false when there is none, and then `take` will say so.
    func reserveDelivery() -> Bool {
        state.withLock { state in
            guard state.deliveries < Self.maxDeliveries else {
                state.isStarved = true
                return false
            }
            state.deliveries += 1
            return true
        }
    }

    /// Gives the capacity back of a delivery that was not to be.
    func releaseDelivery() { state.withLock { $0.deliveries -= 1 } }

    /// What was put off could not be looked at: `take` says so again.
    func remainsStarved() { state.withLock { $0.isStarved = true } }

    func tell(_ message: Message) {
        state.withLock { state in
            state.messages.append(message)
            if message.isAnswer { state.unanswered -= 1 }
        }
    }

    /// Has its thread look at what it was told.
    func wake() { wakeUp.notify() }

    func becomesKnown() { state.withLock { $0.isKnown = true } }

    // MARK: The connection's thread

    func asked() { state.withLock { $0.unanswered += 1 } }

    var unanswered: Int { state.withLock { $0.unanswered } }
    var isKnown: Bool { state.withLock { $0.isKnown } }

    /// What is to be said next, and whether deliveries were put off that have capacity now.
    func take() -> (messages: [Message], wasStarved: Bool) {
        state.withLock { state in
            defer { state.messages = [] }
            for message in state.messages {
                if case .delivery = message.content { state.deliveries -= 1 }
            }
            let wasStarved = state.isStarved && state.deliveries == 0
            if wasStarved { state.isStarved = false }
            return (state.messages, wasStarved)
        }
    }
}
