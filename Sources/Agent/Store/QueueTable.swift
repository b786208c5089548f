import SMP
import Store

/// Queues of both directions, within one transaction.
struct QueueTable {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    // MARK: - Receiving

    func receiving(of id: ConnectionID) throws -> [ReceivingQueue] {
        try connection.query(
            "SELECT * FROM receiving_queue WHERE connection = ? ORDER BY id", id.number,
            row: Self.receivingQueue)
    }

    /// Servers of a connection's queues. Invalid addresses are omitted.
    func servers(of id: ConnectionID) throws -> [ServerAddress] {
        try connection.query(
            "SELECT DISTINCT server FROM receiving_queue WHERE connection = ? ORDER BY server", id.number
        ) { ServerAddress($0.text("server")) }.compactMap(\.self)
    }

    /// Returns the connection of a queue.
    func place(ofReceiving queue: Int64) throws -> ConnectionID? {
        try connection.first("SELECT connection FROM receiving_queue WHERE id = ?", queue) {
            ConnectionID($0.integer("connection"))
        }
    }

    /// Finds a queue by its recipient id.
    func receiving(recipientID: [UInt8], on server: ServerAddress) throws -> (
        connection: ConnectionID, queue: Int64
    )? {
        let found = try connection.query(
            "SELECT id, connection, server FROM receiving_queue WHERE recipient_id = ?", recipientID
        ) {
            (
                id: $0.integer("id"), connection: ConnectionID($0.integer("connection")),
                server: $0.text("server")
            )
        }
        return found.first { ServerAddress($0.server) == server }.map { ($0.connection, $0.id) }
    }

    /// Queues with pending work on their servers.
    func unfinished() throws -> [Int64] {
        try connection.query(
            "SELECT id FROM receiving_queue WHERE status != ? OR key_to_secure IS NOT NULL",
            ReceivingQueue.Status.active
        ) { $0.integer("id") }
    }

    /// Connections with a queue that another program has taken over.
    func takenOver() throws -> [ConnectionID] {
        try connection.query(
            "SELECT DISTINCT connection FROM receiving_queue WHERE is_taken_over = 1 ORDER BY connection"
        ) { ConnectionID($0.integer("connection")) }
    }

    /// The columns needed for a subscription.
    struct Subscribable: Sendable {
        let recipientID: [UInt8]
        /// Seed of the signing key. A wrong length means damage to this queue only.
        let authorizationSeed: [UInt8]
    }

    /// Queues of a server to subscribe to.
    func subscribable(on server: ServerAddress) throws -> [Subscribable] {
        // The stored text differs for the same server with another password.
        try subscribableServers().filter { $0.address == server }.flatMap { written in
            try connection.query(
                """
                SELECT recipient_id, authorization_seed FROM receiving_queue
                WHERE server = ? AND \(Self.isSubscribable) ORDER BY id
                """, written.text
            ) {
                Subscribable(
                    recipientID: $0.bytes("recipient_id"), authorizationSeed: $0.bytes("authorization_seed"))
            }
        }
    }

    /// Servers with queues to subscribe to, with their stored text. Invalid addresses are omitted.
    func subscribableServers() throws -> [(text: String, address: ServerAddress)] {
        try connection.query("SELECT DISTINCT server FROM receiving_queue WHERE \(Self.isSubscribable)") {
            $0.text("server")
        }.compactMap { text in ServerAddress(text).map { (text, $0) } }
    }

    private static let isSubscribable: String = {
        let states = [ReceivingQueue.Status.active, .suspending, .draining].map { "'\($0.rawValue)'" }
        return "status IN (\(states.joined(separator: ", "))) AND is_taken_over = 0"
    }()

    func replace(receiving before: [ReceivingQueue], by queues: [ReceivingQueue], of id: ConnectionID) throws
    {
        for queue in before where !queues.contains(where: { $0.id == queue.id }) {
            try connection.execute("DELETE FROM receiving_queue WHERE id = ?", queue.id)
        }
        for queue in queues where !before.contains(queue) {
            try connection.execute(
                """
                INSERT OR REPLACE INTO receiving_queue (id, connection, server, mode, status, authorization_seed,
                    box_key, queue_key, recipient_id, sender_id, server_box_key, sender_key, key_to_secure,
                    is_replacement, is_taken_over, link_kind, link_id, link_key, link_root, link_fixed,
                    leaves_since)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """, queue.id == 0 ? nil : queue.id, id.number, queue.server.textWithPassword,
                queue.mode, queue.status, queue.authorizationSeed, queue.boxKey, queue.queueKey,
                queue.recipientID, queue.senderID, queue.serverBoxKey, queue.senderKey, queue.keyToSecure,
                queue.isReplacement, queue.isTakenOver, queue.link?.kind.rawValue, queue.link?.id,
                queue.link?.key, queue.link?.rootSeed, queue.link?.fixed, queue.leavesSince)
        }
    }

    private static func receivingQueue(_ row: borrowing Row) throws -> ReceivingQueue {
        var link: StoredLink?
        if let word = row.textOrNil("link_kind") {
            guard let kind = ShortLink.Kind(rawValue: word) else { throw AgentError.damagedState }
            link = StoredLink(
                kind: kind, id: row.bytes("link_id"), key: row.bytes("link_key"),
                rootSeed: row.bytes("link_root"), fixed: row.bytes("link_fixed"))
        }
        return ReceivingQueue(
            id: row.integer("id"), server: try ServerAddress(stored: row.text("server")),
            mode: try row.value("mode"), status: try row.value("status"),
            authorizationSeed: try row.key("authorization_seed"), boxKey: try row.key("box_key"),
            queueKey: try row.key("queue_key"), recipientID: row.bytes("recipient_id"),
            senderID: row.bytes("sender_id"), serverBoxKey: row.bytes("server_box_key"),
            senderKey: row.bytesOrNil("sender_key"), keyToSecure: row.bytesOrNil("key_to_secure"),
            isReplacement: row.bool("is_replacement"), isTakenOver: row.bool("is_taken_over"), link: link,
            leavesSince: row.elapsedTimeOrNil("leaves_since"))
    }

    // MARK: - Sending

    func sending(of id: ConnectionID) throws -> [SendingQueue] {
        try connection.query("SELECT * FROM sending_queue WHERE connection = ? ORDER BY id", id.number) {
            row in
            let address = QueueAddress(
                server: try ServerAddress(stored: row.text("server")), senderID: row.bytes("sender_id"),
                key: row.bytes("recipient_key"), mode: try row.value("mode"))
            guard let address else { throw AgentError.damagedState }
            return SendingQueue(
                address: address, version: UInt16(clamping: row.integer("version")),
                use: try row.value("use"),
                authorizationSeed: try row.key("authorization_seed"), queueKey: try row.key("queue_key"),
                isSecured: row.bool("is_secured"), isGone: row.bool("is_gone"),
                refusals: Refusals(
                    count: Int(clamping: row.integer("refusals")),
                    since: row.elapsedTimeOrNil("refused_since")))
        }
    }

    func replace(sending queues: [SendingQueue], of id: ConnectionID) throws {
        try connection.execute("DELETE FROM sending_queue WHERE connection = ?", id.number)
        for queue in queues {
            try connection.execute(
                """
                INSERT INTO sending_queue (connection, server, sender_id, recipient_key, mode, version, use,
                    authorization_seed, queue_key, is_secured, is_gone, refusals, refused_since)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """, id.number, queue.address.server.text, queue.address.senderID, queue.address.key,
                queue.address.mode, Int(queue.version), queue.use, queue.authorizationSeed,
                queue.queueKey, queue.isSecured, queue.isGone, queue.refusals.count, queue.refusals.since)
        }
    }
}

extension Row {
    /// Returns a Curve25519 key. Throws `.damagedState` for any other length.
    fileprivate func key(_ column: StaticString) throws(AgentError) -> [UInt8] {
        let key = bytes(column)
        guard key.count == 32 else { throw .damagedState }
        return key
    }
}
