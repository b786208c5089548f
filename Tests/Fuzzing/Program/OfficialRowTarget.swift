import ChatCore
import Store

// In its own file, because both cores have types of these names.
@testable import OfficialCore

extension Target {
    static let officialRow = Target("index-row", "rows of the official core's index", longest: 512) { bytes in
        officialIndex.with(bytes, in: officialItems) { connection in
            let items = IndexTables(connection).items
            let ids = try connection.query("SELECT id FROM item") { ItemID($0.integer("id")) }
            guard let id = ids.first, let item = try items.item(id), let file = item.file else { return }
            _ = try items.items(of: item.chat, before: nil, count: 5)
            try items.put(item, file, reference: item.chat.description)
            hold(try items.item(id) == item, "a written item is the same")
            _ = (try items.reference(of: id), try items.disappears(id))
        }
    }

    private static let officialItems = FuzzedTable(
        "item",
        [
            "chat", "reference", "seen", "direction", "sender", "time", "kind", "seconds", "text", "file",
            "name", "size", "transport", "status", "part", "total", "problem", "sentence", "described",
            "path", "sealed", "disappears", "read",
        ])

    private static let officialIndex = IndexFixture("official", Schema.migrations)
}
