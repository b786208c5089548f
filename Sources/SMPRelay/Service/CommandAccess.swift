import SMP

/// Finds the queue of a request and checks its author's permission. `Authorization` authenticated the author before.
struct CommandAccess {
    private let records: QueueRecords

    init(records: QueueRecords) { self.records = records }

    /// Returns the queue of a request, or nil if the request needs none.
    ///
    /// - Throws: `ServerError` for the client; the errors of the database.
    func queue(of request: Request) throws -> QueueRecord? {
        switch request.command {
        case .new: return nil
        // Handled before they reach the store.
        case .ping, .proxy, .proxyForward, .relayForward: throw ServerError.command(.prohibited)
        case .linkGet:
            guard let queue = try records.queue(ofLink: request.entityID), queue.mode == .contact else {
                throw ServerError.authorization
            }
            return queue
        case .send:
            guard let queue = try records.queue(ofSender: request.entityID), !queue.isSuspended,
                queue.senderKey == request.signer
            else { throw ServerError.authorization }
            return queue
        case .senderKey: return try queueToSecure(request, records.queue(ofSender:))
        case .linkKey: return try queueToSecure(request, records.queue(ofLink:))
        case .subscribe, .secure, .acknowledge, .suspend, .delete, .queueInformation, .linkSet, .linkDelete:
            guard let queue = try records.queue(ofRecipient: request.entityID),
                queue.recipientKey == request.signer
            else { throw ServerError.authorization }
            return queue
        }
    }

    /// Returns the queue that the authorising key secures.
    private func queueToSecure(
        _ request: Request, _ find: ([UInt8]) throws -> QueueRecord?
    ) throws -> QueueRecord {
        guard let queue = try find(request.entityID), queue.mode == .messaging,
            queue.senderKey == nil || queue.senderKey == request.signer
        else { throw ServerError.authorization }
        return queue
    }
}
