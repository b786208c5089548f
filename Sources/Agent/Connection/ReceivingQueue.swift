import Base
import Cryptography
import SMP

/// A queue that this side receives from, with its keys. All of it is secret.
struct ReceivingQueue: Hashable, Sendable {
    /// What is to be done about it with its server. A queue goes through these in order, and may leave some out.
    enum Status: String, Hashable, Sendable, CaseIterable {
        /// To be made.
        case creating
        case active
        /// To be closed to its sender, because another one has taken its place.
        case suspending
        /// To be read until nothing is left in it.
        case draining
        /// To be deleted.
        case deleting
    }

    /// 0 until it is stored.
    var id: Int64 = 0
    /// With its password, where the server wants one.
    var server: ServerAddress
    var mode: QueueMode
    var status: Status
    /// Of the Ed25519 key that authorises what the recipient asks.
    var authorizationSeed: [UInt8]
    /// X25519, for the box around each message between the server and the recipient.
    var boxKey: [UInt8]
    /// X25519, for the box between sender and recipient: its public half is in the queue's address.
    var queueKey: [UInt8]
    /// From here on what the server has said, and no bytes before.
    var recipientID: [UInt8] = []
    var senderID: [UInt8] = []
    var serverBoxKey: [UInt8] = []
    /// The sender's X25519 key, once it is known to be the sender's.
    var senderKey: [UInt8]?
    /// With which the server is to secure the queue.
    var keyToSecure: [UInt8]?
    /// Whether it is to take the place of the others.
    var isReplacement = false
    /// Whether another program receives from it, or the server does not have it any more.
    var isTakenOver = false
    var link: StoredLink?

    /// Fresh keys for a queue that is to be made.
    static func fresh(
        server: ServerAddress, mode: QueueMode, isReplacement: Bool = false, random: any RandomSource
    ) -> ReceivingQueue {
        ReceivingQueue(
            server: server, mode: mode, status: .creating, authorizationSeed: random.bytes(32),
            boxKey: random.bytes(32), queueKey: random.bytes(32), isReplacement: isReplacement)
    }

    var authorization: SigningKey {
        get throws { try SigningKey(seed: authorizationSeed) }
    }

    /// nil until it is made.
    var address: QueueAddress? {
        guard let key = try? AgreementKey(rawValue: queueKey).publicKey else { return nil }
        return QueueAddress(server: server, senderID: senderID, key: key, mode: mode)
    }

    /// Takes what the server has called it.
    mutating func created(_ ids: Answer.QueueIDs) {
        recipientID = ids.recipientID
        senderID = ids.senderID
        serverBoxKey = ids.boxKey
        status = .active
    }

    /// What NEW asks for.
    func creation(link: Command.NewLink? = nil) throws -> Command {
        .new(
            Command.NewQueue(
                recipientKey: try authorization.publicKey,
                boxKey: try AgreementKey(rawValue: boxKey).publicKey,
                password: server.password.map { Array($0.utf8) }, subscribes: false, mode: mode, link: link))
    }

    /// Opens the server's box around a message.
    func open(_ box: [UInt8], messageID: [UInt8]) throws -> DeliveredBody {
        let secret = try AgreementKey(rawValue: boxKey).wipedSecret(with: serverBoxKey)
        return try DeliveredBody(opening: box, messageID: messageID, secret: secret)
    }
}

/// What is kept of a short link, to change what is behind it.
struct StoredLink: Hashable, Sendable {
    var kind: ShortLink.Kind
    /// 24 bytes.
    var id: [UInt8]
    /// 32 bytes: in the link, and opens what is behind it.
    var key: [UInt8]
    /// Of the Ed25519 key that signs what is behind it.
    var rootSeed: [UInt8]
    /// As the server has it: it never changes.
    var fixed: [UInt8]
}
