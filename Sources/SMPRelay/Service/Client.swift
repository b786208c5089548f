import Base
import Cryptography
import Network
import Posix
import SMP

/// One connection as the service knows it: what waits to be said to it, how much more may, and what it has in memory.
///
/// The service tells, the connection's thread takes. Bodies of messages are read only when they fit, so
/// who has subscribed to ten thousand queues and reads nothing costs no more than who has one.
final class Client: Sendable {
    /// Something to say, in the order in which it happened.
    struct Message: Sendable {
        enum Content: Sendable {
            case answer(Answer)
            /// To be put into the boxes of another server and of its client on the connection's thread.
            case handedOn(Answer, HandedOn)
            /// To be boxed on the connection's thread.
            case delivery(StoredMessage, boxSecret: WipedBytes)
        }

        /// Empty where nobody asked.
        let correlationID: [UInt8]
        let entityID: [UInt8]
        let content: Content
        /// false of what the relay says by itself.
        let isAnswer: Bool
        /// Bytes that are held for it until it has left.
        var size = 0
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
        /// Commands without an answer, and messages that have not left.
        var held: HeldBytes
        /// Of messages that the connection's thread has taken and that have not left.
        var leaving = 0
    }

    /// Bodies of 16 KiB that may wait for a connection.
    private static let maxDeliveries = 8
    /// What is held for one of them.
    private static let deliverySize = 17 << 10

    private let state: Lock<State>
    private let wakeUp: WakeUp
    let number: UInt64
    let peer: PeerAddress

    /// - Parameter budget: of all clients; one of its own is for tests.
    init(
        number: UInt64, peer: PeerAddress = .unknown, budget: ByteBudget = ByteBudget(limit: .max / 2),
        wakeUp: WakeUp
    ) {
        self.number = number
        self.peer = peer
        self.wakeUp = wakeUp
        state = Lock(State(held: HeldBytes(budget)), rank: .collection)
    }

    // MARK: The service

    /// Reserves capacity for one delivery; false when there is none, and then `take` will say so.
    func reserveDelivery() -> Bool {
        state.withLock { state in
            guard state.deliveries < Self.maxDeliveries, state.held.take(Self.deliverySize) else {
                state.isStarved = true
                return false
            }
            state.deliveries += 1
            return true
        }
    }

    /// Gives the capacity back of a delivery that was not to be.
    func releaseDelivery() {
        state.withLock { state in
            state.deliveries -= 1
            state.held.giveBack(Self.deliverySize)
        }
        // It may have waited for that.
        wake()
    }

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

    /// The connection is over, and nothing of it is in memory any more.
    func leave() {
        state.withLock { state in
            state.messages = []
            state.held.giveBack(state.held.bytes)
        }
    }

    // MARK: The connection's thread

    func asked() { state.withLock { $0.unanswered += 1 } }

    var unanswered: Int { state.withLock { $0.unanswered } }
    var isKnown: Bool { state.withLock { $0.isKnown } }

    /// Whether so many bytes more may be read of it.
    func mayHold(_ bytes: Int) -> Bool { state.withLock { $0.held.mayTake(bytes) } }

    /// Counts bytes of it that are in memory from now on.
    func hold(_ bytes: Int) { state.withLock { $0.held.takeAnyway(bytes) } }

    func release(_ bytes: Int) { state.withLock { $0.held.giveBack(bytes) } }

    /// What is to be said next, and whether deliveries were put off that have capacity now.
    func take() -> (messages: [Message], wasStarved: Bool) {
        state.withLock { state in
            defer { state.messages = [] }
            for message in state.messages {
                state.leaving += message.size
                if case .delivery = message.content {
                    state.deliveries -= 1
                    state.leaving += Self.deliverySize
                }
            }
            let wasStarved = state.isStarved && state.deliveries == 0
            if wasStarved { state.isStarved = false }
            return (state.messages, wasStarved)
        }
    }

    /// The socket has what was taken.
    func left() {
        state.withLock { state in
            state.held.giveBack(state.leaving)
            state.leaving = 0
        }
    }

    /// Bytes that are held for it. For tests.
    var heldBytes: Int { state.withLock { $0.held.bytes } }
}
