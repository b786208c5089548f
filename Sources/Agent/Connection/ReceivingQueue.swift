import Base
import Cryptography
import SMP

/// A queue that this side receives from, with its secret keys.
struct ReceivingQueue: Hashable, Sendable {
    /// Pending work on the server. A queue passes the cases in order and may skip some.
    enum Status: String, Hashable, Sendable, CaseIterable {
        /// Not created yet (`NEW`).
        case creating
        case active
        /// Replaced; to be closed to the sender (`OFF`).
        case suspending
        /// Suspended; to be read until empty.
        case draining
        /// To be deleted (`DEL`).
        case deleting

        var isLeaving: Bool { self == .suspending || self == .draining || self == .deleting }
    }

    /// 0 until stored.
    var id: Int64 = 0
    /// May include the server's password.
    var server: ServerAddress
    var mode: QueueMode
    var status: Status
    /// Seed of the Ed25519 key that signs the recipient's commands.
    var authorizationSeed: [UInt8]
    /// X25519 key of the box between server and recipient.
    var boxKey: [UInt8]
    /// X25519 key of the box between sender and recipient. The queue's address has its public half.
    var queueKey: [UInt8]
    /// The server's `IDS` reply; empty until the queue is created.
    var recipientID: [UInt8] = []
    var senderID: [UInt8] = []
    var serverBoxKey: [UInt8] = []
    /// The sender's X25519 key, once confirmed.
    var senderKey: [UInt8]?
    /// The sender's key that the server must still get (`KEY`).
    var keyToSecure: [UInt8]?
    /// Whether a rotation will replace the other queues with it.
    var isReplacement = false
    /// Whether another program receives from it, or the server no longer has it.
    var isTakenOver = false
    var link: StoredLink?
    /// Start of the first status that leaves the server.
    var leavesSince: ElapsedTime?

    /// Generates keys for a new queue.
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

    /// nil if the key is damaged.
    var address: QueueAddress? {
        guard let key = try? AgreementKey(rawValue: queueKey).publicKey else { return nil }
        return QueueAddress(server: server, senderID: senderID, key: key, mode: mode)
    }

    /// Stores the server's `IDS` reply.
    mutating func created(_ ids: Answer.QueueIDs) {
        recipientID = ids.recipientID
        senderID = ids.senderID
        serverBoxKey = ids.boxKey
        status = .active
    }

    /// The `NEW` command.
    func creation(link: Command.NewLink? = nil) throws -> Command {
        .new(
            Command.NewQueue(
                recipientKey: try authorization.publicKey,
                boxKey: try AgreementKey(rawValue: boxKey).publicKey,
                password: server.password.map { Array($0.utf8) }, subscribes: false, mode: mode, link: link))
    }

    /// Opens the box between server and recipient.
    func open(_ box: [UInt8], messageID: [UInt8]) throws -> DeliveredBody {
        let secret = try AgreementKey(rawValue: boxKey).wipedSecret(with: serverBoxKey)
        return try DeliveredBody(opening: box, messageID: messageID, secret: secret)
    }
}

/// The owner's keys of a short link, with which its data can be changed.
struct StoredLink: Hashable, Sendable {
    var kind: ShortLink.Kind
    /// 24 bytes.
    var id: [UInt8]
    /// Link key, 32 bytes. It is part of the link and decrypts the data.
    var key: [UInt8]
    /// Seed of the Ed25519 root key that signs the data.
    var rootSeed: [UInt8]
    /// The encrypted fixed data, as stored on the server.
    var fixed: [UInt8]
}
