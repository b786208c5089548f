import Base
import Store

/// Contact requests and keys of opened links, within one transaction.
struct LinkTable {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    // MARK: - Requests

    func insert(request link: String, at address: ConnectionID) throws -> ContactRequestID {
        try connection.execute(
            "INSERT INTO contact_request (address, link) VALUES (?, ?)", address.number, link)
        return ContactRequestID(connection.lastInsertedID)
    }

    func request(_ id: ContactRequestID) throws -> (
        address: ConnectionID, link: String, accepted: ConnectionID?
    )? {
        try connection.first(
            "SELECT address, link, accepted FROM contact_request WHERE id = ?", id.number
        ) {
            (
                ConnectionID($0.integer("address")), $0.text("link"),
                $0.integerOrNil("accepted").map { ConnectionID($0) }
            )
        }
    }

    func setAccepted(_ id: ContactRequestID, by connection: ConnectionID) throws {
        try self.connection.execute(
            "UPDATE contact_request SET accepted = ? WHERE id = ?", connection.number, id.number)
    }

    /// Returns whether the request existed.
    func remove(_ id: ContactRequestID) throws -> Bool {
        try connection.execute("DELETE FROM contact_request WHERE id = ?", id.number) > 0
    }

    // MARK: - Opened links

    /// Retention of an unused key. The link may have been opened by a failed attempt.
    static let openedAge = Duration.seconds(30 * 86_400)

    /// Returns the key seed reserved for a link, and stores `fresh` if there is none yet.
    func seed(ofLink hash: [UInt8], fresh: [UInt8], now: ElapsedTime) throws -> [UInt8] {
        try connection.execute(
            """
            INSERT INTO opened_link (hash, seed, time) VALUES (?, ?, ?)
            ON CONFLICT (hash) DO UPDATE SET time = excluded.time
            """, hash, fresh, now)
        return try connection.first("SELECT seed FROM opened_link WHERE hash = ?", hash) { $0.bytes("seed") }
            ?? fresh
    }

    /// Deletes the key once the link has led to an established connection.
    func removeOpened(_ hash: [UInt8]) throws {
        try connection.execute("DELETE FROM opened_link WHERE hash = ?", hash)
    }

    /// Deletes old keys of links without a connection.
    func expireOpened(now: ElapsedTime) throws {
        try connection.execute(
            """
            DELETE FROM opened_link WHERE time < ?
            AND NOT EXISTS (SELECT 1 FROM connection WHERE link_hash = opened_link.hash)
            """, now.advanced(by: .zero - Self.openedAge))
    }
}
