import Base
import SMP
import Store

/// Other people's messaging servers inside this machine's own network that were not contacted.
struct RefusedServerTable {
    let connection: Connection
    let profile: Int64

    /// Only the latest ones are kept.
    static let maxServers = 32

    func insert(_ server: ServerAddress, at time: Timestamp) throws {
        try connection.execute(
            "INSERT OR REPLACE INTO refused_server (profile, address, time) VALUES (?, ?, ?)", profile,
            server.text, time)
        try connection.execute(
            """
            DELETE FROM refused_server WHERE profile = ? AND address NOT IN (
                SELECT address FROM refused_server WHERE profile = ? ORDER BY time DESC, address LIMIT ?)
            """, profile, profile, Self.maxServers)
    }

    func remove(_ server: ServerAddress) throws {
        try connection.execute(
            "DELETE FROM refused_server WHERE profile = ? AND address = ?", profile, server.text)
    }

    /// Returns servers, latest first.
    func all() throws -> [ServerAddress] {
        try connection.query(
            "SELECT address FROM refused_server WHERE profile = ? ORDER BY time DESC, address", profile
        ) { ServerAddress($0.text("address")) }.compactMap { $0 }
    }
}
