import Cryptography
import SMP

/// Who may do what: finds the queue that a command is about, and looks whether its author may.
struct CommandAccess {
    private let records: QueueRecords
    private let authority: SessionAuthority

    init(records: QueueRecords, authority: SessionAuthority) {
        self.records = records
        self.authority = authority
    }

    /// Keys that nobody has: what there is not costs as much time as what there is, and tells nothing.
    private static let nobodysSignature = SigningKey.generate().publicKey
    private static let nobodysAgreement = AgreementKey.generate().publicKey
    private static let authenticatorLength = 80

    /// The queue of an authorised command; nil where a command is about none.
    ///
    /// - Throws: `ServerError` for the client, or what the database throws.
    func queue(of transmission: Transmission, _ command: Command) throws -> QueueRecord? {
        switch command {
        case .ping:
            guard transmission.authorization.isEmpty else { throw ServerError.command(.hasAuthorization) }
            return nil
        case .create(let queue):
            try requireAuthorization(transmission)
            guard transmission.entityID.isEmpty else { throw ServerError.command(.hasAuthorization) }
            try check(transmission, queue.recipientKey)
            return nil
        // Opened before (`HandedOn`), or this relay hands nothing on.
        case .openProxy, .forward, .handOn: throw ServerError.command(.prohibited)
        case .openContact:
            guard transmission.authorization.isEmpty else { throw ServerError.command(.hasAuthorization) }
            return try contact(transmission)
        case .send: return try queueToSendTo(transmission)
        case .secureAsSender(let key): return try queueToSecure(transmission, key, records.queue(ofSender:))
        case .openInvitation(let key): return try queueToSecure(transmission, key, records.queue(ofLink:))
        case .subscribe, .secure, .acknowledge, .suspend, .delete, .queueInformation, .setLink, .deleteLink:
            try requireAuthorization(transmission)
            try requireEntity(transmission)
            let queue = try records.queue(ofRecipient: transmission.entityID)
            try check(transmission, queue?.recipientKey)
            return queue
        }
    }

    private func requireAuthorization(_ transmission: Transmission) throws {
        if transmission.authorization.isEmpty { throw ServerError.command(.noAuthorization) }
    }

    private func requireEntity(_ transmission: Transmission) throws {
        if transmission.entityID.isEmpty { throw ServerError.command(.noEntity) }
    }

    private func check(_ transmission: Transmission, _ key: [UInt8]?) throws {
        let isAuthenticator = transmission.authorization.count == Self.authenticatorLength
        let nobody = isAuthenticator ? Self.nobodysAgreement : Self.nobodysSignature
        guard authority.isAuthorized(transmission, by: key ?? nobody), key != nil else {
            throw ServerError.authorization
        }
    }

    /// The queue behind a link for everybody.
    private func contact(_ transmission: Transmission) throws -> QueueRecord {
        try requireEntity(transmission)
        guard let queue = try records.queue(ofLink: transmission.entityID), queue.mode == .contact else {
            throw ServerError.authorization
        }
        return queue
    }

    private func queueToSendTo(_ transmission: Transmission) throws -> QueueRecord {
        try requireEntity(transmission)
        let queue = try records.queue(ofSender: transmission.entityID)
        // A queue that is not secured takes what nobody has signed, and that alone.
        if !transmission.authorization.isEmpty {
            try check(transmission, queue?.senderKey)
        } else if queue?.senderKey != nil {
            throw ServerError.authorization
        }
        guard let queue, !queue.isSuspended else { throw ServerError.authorization }
        return queue
    }

    /// The queue that somebody secures with a key of its own, which authorises that itself.
    private func queueToSecure(
        _ transmission: Transmission, _ key: [UInt8], _ find: ([UInt8]) throws -> QueueRecord?
    ) throws -> QueueRecord {
        try requireAuthorization(transmission)
        try requireEntity(transmission)
        try check(transmission, key)
        guard let queue = try find(transmission.entityID), queue.mode == .messaging,
            queue.senderKey == nil || queue.senderKey == key
        else { throw ServerError.authorization }
        return queue
    }
}
