import ChatCore
import Store

// Alone here: both cores have types of these names.
@testable import OfficialCore

extension Target {
    static let officialRow = Target("index-row", "rows of the official core's index", longest: 512) { bytes in
        let columns = [
            "chat", "reference", "seen", "direction", "sender", "time", "kind", "seconds", "text", "file",
            "name",
            "size", "transport", "status", "part", "total", "problem", "sentence", "described", "path",
            "sealed",
            "disappears", "read",
        ]
        officialIndex.with(FuzzedRow(of: "item", columns, bytes)) { connection in
            guard let found = try connection.first("SELECT id FROM item", row: { ItemID($0.integer(0)) }),
                let item = try ItemRows.item(found, connection), let file = item.file
            else { return }
            _ = try ItemRows.items(of: item.chat, before: nil, count: 5, connection)
            try ItemRows.put(item, file, reference: item.chat.description, connection)
            hold(try ItemRows.item(found, connection) == item, "a written item is the same")
            _ = (try ItemRows.reference(of: found, connection), try ItemRows.disappears(found, connection))
        }
    }

    private static let officialIndex = IndexFixture("official", Schema.migrations)
}
