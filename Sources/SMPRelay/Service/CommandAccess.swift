import SMP

/// Finds the queue that a request is about, and looks whether its author may what it asks. Who the author is was found out
/// before, on the thread of its connection (`Authorization`).
struct CommandAccess {
    private let records: QueueRecords

    init(records: QueueRecords) { self.records = records }

    /// nil where a request is about none.
    ///
    /// - Throws: `ServerError` for the client, or what the database throws.
    func queue(of request: Request) throws -> QueueRecord? {
        switch request.command {
        case .create: return nil
        // Answered before, opened, or handed on by others.
        case .ping, .openProxy, .forward, .handOn: throw ServerError.command(.prohibited)
        case .openContact:
            guard let queue = try records.queue(ofLink: request.entityID), queue.mode == .contact else {
                throw ServerError.authorization
            }
            return queue
        case .send:
            guard let queue = try records.queue(ofSender: request.entityID), !queue.isSuspended,
                queue.senderKey == request.signer
            else { throw ServerError.authorization }
            return queue
        case .secureAsSender: return try queueToSecure(request, records.queue(ofSender:))
        case .openInvitation: return try queueToSecure(request, records.queue(ofLink:))
        case .subscribe, .secure, .acknowledge, .suspend, .delete, .queueInformation, .setLink, .deleteLink:
            guard let queue = try records.queue(ofRecipient: request.entityID),
                queue.recipientKey == request.signer
            else { throw ServerError.authorization }
            return queue
        }
    }

    /// The queue that somebody secures with the key that has authorised it.
    private func queueToSecure(
        _ request: Request, _ find: ([UInt8]) throws -> QueueRecord?
    ) throws -> QueueRecord {
        guard let queue = try find(request.entityID), queue.mode == .messaging,
            queue.senderKey == nil || queue.senderKey == request.signer
        else { throw ServerError.authorization }
        return queue
    }
}
