import Base
import Cryptography
import Network
import Posix
import SMP

/// One connection on the service's side: its outgoing messages, its capacity for more, and its memory.
///
/// The service adds messages and the connection's thread takes them. Message bodies are read only if there is capacity,
/// so a client that subscribes to ten thousand queues without reading costs no more than any other.
final class Client: Sendable {
    /// An outgoing message, in the order of events.
    struct Message: Sendable {
        enum Content: Sendable {
            case answer(Answer)
            /// An answer to another server, encrypted on the connection's thread.
            case handedOn(Answer, HandedOn)
            /// A delivery, encrypted on the connection's thread.
            case delivery(StoredMessage, boxSecret: WipedBytes)
        }

        /// Empty if the message answers no request.
        let correlationID: [UInt8]
        let entityID: [UInt8]
        let content: Content
        /// False for messages that the relay sends on its own.
        let isAnswer: Bool
        /// The bytes held for the message until it was sent.
        var size = 0
    }

    private struct State {
        var messages: [Message] = []
        /// The number of deliveries reserved or not taken yet.
        var deliveries = 0
        /// Whether a delivery was postponed for lack of capacity.
        var isStarved = false
        /// The number of unanswered commands.
        var unanswered = 0
        /// Whether a key of a queue here authorised one of its commands.
        var isKnown = false
        /// Memory of unanswered commands and unsent messages.
        var held: HeldBytes
        /// The bytes of taken messages that were not sent yet.
        var leaving = 0
    }

    /// The maximum number of 16 KiB bodies waiting for a connection.
    private static let maxDeliveries = 8
    /// The bytes held for one delivery.
    private static let deliverySize = 17 << 10

    private let state: Lock<State>
    private let wakeUp: WakeUp
    let number: UInt64
    let peer: PeerAddress

    /// - Parameter budget: The budget of all clients. Tests use a separate one.
    init(
        number: UInt64, peer: PeerAddress = .unknown, budget: Budget = Budget(),
        wakeUp: WakeUp
    ) {
        self.number = number
        self.peer = peer
        self.wakeUp = wakeUp
        state = Lock(State(held: HeldBytes(budget)), rank: .collection)
    }

    // MARK: The service

    /// Reserves capacity for one delivery. Returns false if there is none; `take` reports later when there is.
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

    /// Releases the capacity of an unused delivery.
    func releaseDelivery() {
        state.withLock { state in
            state.deliveries -= 1
            state.held.giveBack(Self.deliverySize)
        }
        // A postponed delivery may need this capacity.
        wake()
    }

    /// Marks deliveries as postponed again after a read error, so that `take` reports it again.
    func remainsStarved() { state.withLock { $0.isStarved = true } }

    func tell(_ message: Message) {
        state.withLock { state in
            state.messages.append(message)
            if message.isAnswer { state.unanswered -= 1 }
        }
    }

    /// Wakes the connection's thread.
    func wake() { wakeUp.notify() }

    func becomesKnown() { state.withLock { $0.isKnown = true } }

    /// Releases all memory after the connection ended.
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

    /// Returns whether `bytes` more may be read from the client.
    func mayHold(_ bytes: Int) -> Bool { state.withLock { $0.held.mayTake(bytes) } }

    /// Counts bytes that are now in memory.
    func hold(_ bytes: Int) { state.withLock { $0.held.takeAnyway(bytes) } }

    func release(_ bytes: Int) { state.withLock { $0.held.giveBack(bytes) } }

    /// Returns the next messages, and whether postponed deliveries have capacity now.
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

    /// Called after the socket accepted the taken messages.
    func left() {
        state.withLock { state in
            state.held.giveBack(state.leaving)
            state.leaving = 0
        }
    }

    /// The bytes held for the client. For tests.
    var heldBytes: Int { state.withLock { $0.held.bytes } }
}
