import Cryptography
import SMP

/// A command whose author is known, as the store carries it out: without any signature.
struct Request: Sendable {
    let command: Command
    let correlationID: [UInt8]
    let entityID: [UInt8]
    /// The key that has authorised it, SubjectPublicKeyInfo; nil: it needed no authorisation.
    let signer: [UInt8]?
    /// In which boxes it came from another server, and its answer goes back; nil: from the client itself.
    var handedOn: HandedOn?
    /// What its answer names: not `entityID` where it came in boxes.
    var answeredEntityID: [UInt8]?
    /// Bytes that are held for it until its answer has left.
    var size = 0
}

/// Whose authorisation a command needs.
enum CommandAuthor: Equatable {
    /// Nobody's: it must have none.
    case nobody
    case owner(of: [UInt8])
    /// There is no such queue, or no key that could have authorised it.
    case unknown
}

extension QueueRecords {
    /// Whose authorisation the command of a transmission needs.
    ///
    /// - Throws: `ServerError` for what makes no sense in any queue, or what the database throws.
    func author(of transmission: Transmission, _ command: Command) throws -> CommandAuthor {
        let isAuthorized = !transmission.authorization.isEmpty
        switch command {
        case .ping, .openContact:
            guard !isAuthorized else { throw ServerError.command(.hasAuthorization) }
            if case .openContact = command { try Self.requireEntity(transmission) }
            return .nobody
        case .openProxy, .forward, .handOn: return .nobody
        case .create(let queue):
            guard isAuthorized else { throw ServerError.command(.noAuthorization) }
            guard transmission.entityID.isEmpty else { throw ServerError.command(.hasAuthorization) }
            return .owner(of: queue.recipientKey)
        case .send:
            try Self.requireEntity(transmission)
            // A queue that is not secured takes what nobody has signed, and that alone.
            guard isAuthorized else { return .nobody }
            return try senderKey(ofSender: transmission.entityID).map { .owner(of: $0) } ?? .unknown
        case .secureAsSender(let key), .openInvitation(let key):
            guard isAuthorized else { throw ServerError.command(.noAuthorization) }
            try Self.requireEntity(transmission)
            // The one that secures it authorises that itself.
            return .owner(of: key)
        case .subscribe, .secure, .acknowledge, .suspend, .delete, .queueInformation, .setLink, .deleteLink:
            guard isAuthorized else { throw ServerError.command(.noAuthorization) }
            try Self.requireEntity(transmission)
            return try recipientKey(ofRecipient: transmission.entityID).map { .owner(of: $0) } ?? .unknown
        }
    }

    private static func requireEntity(_ transmission: Transmission) throws(ServerError) {
        if transmission.entityID.isEmpty { throw .command(.noEntity) }
    }
}
