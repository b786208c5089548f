import ChatCore
import Store

/// Requested previews of a phone's messages, as data URIs. They stay for the time while the phone is away, until their
/// items are removed.
struct PreviewTable {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    func preview(of item: ItemID) throws -> String? {
        try connection.first("SELECT uri FROM preview WHERE item = ?", item.rawValue) { $0.text("uri") }
    }

    func put(_ uri: String, of item: ItemID) throws {
        try connection.execute(
            "INSERT OR REPLACE INTO preview (item, uri) SELECT id, ? FROM item WHERE id = ?", uri,
            item.rawValue)
    }
}
