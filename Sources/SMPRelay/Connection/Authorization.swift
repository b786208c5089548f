import Base
import Cryptography
import SMP

/// Authenticates commands on the connection's thread, so that the store gets only authenticated commands and verifies
/// no signatures. Checks cheap conditions first, then the password, then the signature.
struct Authorization {
    /// Reads the author of a command from the records.
    typealias Records = ((QueueRecords) throws -> CommandAuthor) throws -> CommandAuthor

    private let authority: SessionAuthority
    private let password: [UInt8]?
    private let handsOn: Bool
    /// Keys with which this client secures queues, by sender's id. The records may not have them yet, since the client
    /// may send at once.
    private var securing: [(senderID: [UInt8], key: [UInt8])] = []

    /// - Parameters:
    ///   - password: The password for creating queues, or nil for none.
    ///   - handsOn: Whether this relay forwards requests to other servers.
    init(_ authority: SessionAuthority, password: String?, handsOn: Bool) {
        self.authority = authority
        self.password = password.map { Array($0.utf8) }
        self.handsOn = handsOn
    }

    /// Keys without owners: requests for unknown queues take as long as others and reveal nothing.
    private static let unknownSigningKey = SigningKey.generate().publicKey
    private static let unknownAgreementKey = AgreementKey.generate().publicKey
    private static let authenticatorLength = 80
    /// More than the unanswered commands of a connection.
    private static let maxSecuring = 64

    /// The result of examining a command.
    enum Examined {
        /// The store performs the request.
        case request(Request)
        /// The command is answered without the store.
        case answered(Client.Message)
    }

    /// - Parameter size: The bytes held for the command until its answer was sent.
    /// - Throws: The errors of the database.
    mutating func examine(
        _ received: ServerSession.Received, size: Int, _ records: Records
    ) throws -> Examined {
        let outer = received.transmission
        var boxes: HandedOn?
        func answered(_ answer: Answer) -> Examined {
            .answered(
                Client.Message(
                    correlationID: outer.correlationID, entityID: outer.entityID,
                    content: boxes.map { .handedOn(answer, $0) } ?? .answer(answer), isAnswer: true,
                    size: size))
        }
        do {
            var (transmission, command) = (outer, try received.command.get())
            if case .relayForward(let box) = command {
                let inner = try HandedOn(box, correlationID: outer.correlationID, authority)
                boxes = inner
                (transmission, command) = (inner.received.transmission, try inner.received.command.get())
            }
            try examineCheaply(command)
            let signer = try signer(of: transmission, command, records)
            if case .ping = command { return answered(.pong) }
            if case .senderKey(let key) = command { note(key, of: transmission.entityID) }
            return .request(
                Request(
                    command: command, correlationID: outer.correlationID, entityID: transmission.entityID,
                    signer: signer, handedOn: boxes, answeredEntityID: outer.entityID, size: size))
        } catch let refusal as ServerError {
            return answered(.error(refusal))
        }
    }

    private func examineCheaply(_ command: Command) throws(ServerError) {
        switch command {
        case .proxy, .proxyForward: if !handsOn { throw .command(.prohibited) }
        case .new(let queue):
            guard let password else { return }
            guard constantTimeEqual(password, queue.password ?? []) else { throw .authorization }
        default: break
        }
    }

    /// Returns the key that authorised a command, or nil if none was needed.
    private func signer(
        of transmission: Transmission, _ command: Command, _ records: Records
    ) throws -> [UInt8]? {
        switch try records({ try $0.author(of: transmission, command) }) {
        case .notNeeded: return nil
        case .owner(let key):
            guard authority.isAuthorized(transmission, by: key) else { throw ServerError.authorization }
            return key
        case .unknown:
            if case .send = command,
                let key = securing.last(where: { $0.senderID == transmission.entityID })?.key
            {
                guard authority.isAuthorized(transmission, by: key) else { throw ServerError.authorization }
                return key
            }
            let isAuthenticator = transmission.authorization.count == Self.authenticatorLength
            _ = authority.isAuthorized(
                transmission, by: isAuthenticator ? Self.unknownAgreementKey : Self.unknownSigningKey)
            throw ServerError.authorization
        }
    }

    private mutating func note(_ key: [UInt8], of senderID: [UInt8]) {
        if securing.count == Self.maxSecuring { securing.removeFirst() }
        securing.append((senderID, key))
    }
}
