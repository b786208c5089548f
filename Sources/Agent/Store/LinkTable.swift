import Base
import Store

/// Requests at addresses, and keys of links that were opened, within one transaction.
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

    /// Whether it was there.
    func remove(_ id: ContactRequestID) throws -> Bool {
        try connection.execute("DELETE FROM contact_request WHERE id = ?", id.number) > 0
    }

    // MARK: - Opened links

    /// Of the key with which a link is opened, whenever it is: the one that is kept, or this one from now on.
    func seed(ofLink hash: [UInt8], fresh: [UInt8], now: ElapsedTime) throws -> [UInt8] {
        try connection.execute(
            "INSERT OR IGNORE INTO opened_link (hash, seed, time) VALUES (?, ?, ?)", hash, fresh, now)
        return try connection.first("SELECT seed FROM opened_link WHERE hash = ?", hash) { $0.bytes("seed") }
            ?? fresh
    }

    /// Once its link has led to a connection that stands.
    func removeOpened(_ hash: [UInt8]) throws {
        try connection.execute("DELETE FROM opened_link WHERE hash = ?", hash)
    }
}
