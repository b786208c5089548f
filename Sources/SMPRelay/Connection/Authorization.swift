import Base
import Cryptography
import SMP

/// Finds out on a connection's thread who has authorised its commands, so that the store carries out none whose author is
/// not known and checks no signature: first what costs nothing, then the password, then the signature.
struct Authorization {
    /// Reads what the records have to say about an author.
    typealias Records = ((QueueRecords) throws -> CommandAuthor) throws -> CommandAuthor

    private let authority: SessionAuthority
    private let password: [UInt8]?
    private let handsOn: Bool
    /// Keys with which this client secures queues, by sender's id, that the records may not have yet: it may send at once.
    private var securing: [(senderID: [UInt8], key: [UInt8])] = []

    /// - Parameters:
    ///   - password: asked of who makes queues.
    ///   - handsOn: whether requests go on to other servers.
    init(_ authority: SessionAuthority, password: String?, handsOn: Bool) {
        self.authority = authority
        self.password = password.map { Array($0.utf8) }
        self.handsOn = handsOn
    }

    /// Keys that nobody has: what there is not costs as much time as what there is, and tells nothing.
    private static let nobodysSignature = SigningKey.generate().publicKey
    private static let nobodysAgreement = AgreementKey.generate().publicKey
    private static let authenticatorLength = 80
    /// More than a connection has without an answer.
    private static let maxSecuring = 64

    /// What becomes of a command.
    enum Examined {
        /// The store carries it out.
        case request(Request)
        /// It is answered already: the store has nothing to do with it.
        case answered(Client.Message)
    }

    /// - Parameter size: bytes that are held for the command until its answer has left.
    /// - Throws: what the database throws.
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
            if case .handOn(let box) = command {
                let inner = try HandedOn(box, correlationID: outer.correlationID, authority)
                boxes = inner
                (transmission, command) = (inner.received.transmission, try inner.received.command.get())
            }
            try examineCheaply(command)
            let signer = try signer(of: transmission, command, records)
            if case .ping = command { return answered(.pong) }
            if case .secureAsSender(let key) = command { note(key, of: transmission.entityID) }
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
        case .openProxy, .forward: if !handsOn { throw .command(.prohibited) }
        case .create(let queue):
            guard let password else { return }
            guard constantTimeEqual(password, queue.password ?? []) else { throw .authorization }
        default: break
        }
    }

    /// The key that has authorised a command; nil: none had to.
    private func signer(
        of transmission: Transmission, _ command: Command, _ records: Records
    ) throws -> [UInt8]? {
        switch try records({ try $0.author(of: transmission, command) }) {
        case .nobody: return nil
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
                transmission, by: isAuthenticator ? Self.nobodysAgreement : Self.nobodysSignature)
            throw ServerError.authorization
        }
    }

    private mutating func note(_ key: [UInt8], of senderID: [UInt8]) {
        if securing.count == Self.maxSecuring { securing.removeFirst() }
        securing.append((senderID, key))
    }
}
