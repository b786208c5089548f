import ChatCore
import Store

/// Requested previews of a phone's messages, as data URIs. They stay for the time while the phone is away, until their
/// items are removed.
struct PreviewTable {
    let connection: Connection

    /// The longest kept preview in bytes. Longer ones are not shown either.
    private static let longest = 65_536

    func preview(of item: ItemID) throws -> String? {
        try connection.first("SELECT uri FROM preview WHERE item = ?", item.rawValue) { $0.text("uri") }
    }

    func put(_ uri: String, of item: ItemID) throws {
        guard uri.utf8.count <= Self.longest else { return }
        try connection.execute(
            "INSERT OR REPLACE INTO preview (item, uri) SELECT id, ? FROM item WHERE id = ?", uri,
            item.rawValue)
    }

    /// Drops a preview that differs from the present one of its message.
    func follow(_ uri: String, of item: ItemID) throws {
        try connection.execute("DELETE FROM preview WHERE item = ? AND uri != ?", item.rawValue, uri)
    }
}
