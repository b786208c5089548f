import Cryptography
import SMP

/// The replies to send after a commit, in order.
struct Replies {
    typealias Entry = (client: Client, message: Client.Message)

    private var entries: [Entry] = []

    /// Adds the answer to a client's request.
    mutating func answer(_ answer: Answer, to request: Request, of client: Client) {
        entries.append((client, Client.Message(answer, to: request)))
    }

    /// Adds a notification about a queue.
    mutating func inform(_ client: Client, _ answer: Answer, of queue: QueueRecord) {
        add(.answer(answer), of: queue, to: client)
    }

    /// Adds a delivery, whose capacity is reserved.
    mutating func deliver(_ message: StoredMessage, of queue: QueueRecord, to client: Client) {
        add(.delivery(message, boxSecret: queue.boxSecret), of: queue, to: client)
    }

    private mutating func add(_ content: Client.Message.Content, of queue: QueueRecord, to client: Client) {
        let message = Client.Message(
            correlationID: [], entityID: queue.recipientID, content: content, isAnswer: false)
        entries.append((client, message))
    }

    /// Removes and returns all replies.
    mutating func take() -> [Entry] {
        defer { entries = [] }
        return entries
    }

    /// Discards all replies after a rollback.
    mutating func rollBack() {
        for entry in entries {
            if case .delivery = entry.message.content { entry.client.releaseDelivery() }
        }
        entries = []
    }
}

extension Client.Message {
    /// The answer to a request.
    init(_ answer: Answer, to request: Request) {
        let content = request.handedOn.map { Content.handedOn(answer, $0) } ?? .answer(answer)
        self.init(
            correlationID: request.correlationID, entityID: request.answeredEntityID ?? request.entityID,
            content: content, isAnswer: true, size: request.size)
    }
}
