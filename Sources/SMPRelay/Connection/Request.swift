import Cryptography
import SMP

/// An authenticated command, as the store performs it, without its signature.
struct Request: Sendable {
    let command: Command
    let correlationID: [UInt8]
    let entityID: [UInt8]
    /// The key that authorised it, SubjectPublicKeyInfo, or nil if none was needed.
    let signer: [UInt8]?
    /// The boxes of a request from another server, in which the answer returns. nil for the client's own requests.
    var handedOn: HandedOn?
    /// The entity in the answer: differs from `entityID` for a request in boxes.
    var answeredEntityID: [UInt8]?
    /// The bytes held for the request until its answer was sent.
    var size = 0
}

/// The author whose authorization a command needs.
enum CommandAuthor: Equatable {
    /// The command needs no author and must not be signed.
    case notNeeded
    case owner(of: [UInt8])
    /// The queue, or a key for it, does not exist.
    case unknown
}

extension QueueRecords {
    /// Returns the author whose authorization the command of a transmission needs.
    ///
    /// - Throws: `ServerError` for commands that are invalid for any queue; the errors of the database.
    func author(of transmission: Transmission, _ command: Command) throws -> CommandAuthor {
        let isAuthorized = !transmission.authorization.isEmpty
        switch command {
        case .ping, .linkGet:
            guard !isAuthorized else { throw ServerError.command(.hasAuthorization) }
            if case .linkGet = command { try Self.requireEntity(transmission) }
            return .notNeeded
        case .proxy, .proxyForward, .relayForward: return .notNeeded
        case .new(let queue):
            guard isAuthorized else { throw ServerError.command(.noAuthorization) }
            guard transmission.entityID.isEmpty else { throw ServerError.command(.hasAuthorization) }
            return .owner(of: queue.recipientKey)
        case .send:
            try Self.requireEntity(transmission)
            // An unsecured queue accepts only unsigned messages.
            guard isAuthorized else { return .notNeeded }
            return try senderKey(ofSender: transmission.entityID).map { .owner(of: $0) } ?? .unknown
        case .senderKey(let key), .linkKey(let key):
            guard isAuthorized else { throw ServerError.command(.noAuthorization) }
            try Self.requireEntity(transmission)
            // The new key authorises the command that sets it.
            return .owner(of: key)
        case .subscribe, .secure, .acknowledge, .suspend, .delete, .queueInformation, .linkSet, .linkDelete:
            guard isAuthorized else { throw ServerError.command(.noAuthorization) }
            try Self.requireEntity(transmission)
            return try recipientKey(ofRecipient: transmission.entityID).map { .owner(of: $0) } ?? .unknown
        }
    }

    private static func requireEntity(_ transmission: Transmission) throws(ServerError) {
        if transmission.entityID.isEmpty { throw .command(.noEntity) }
    }
}
