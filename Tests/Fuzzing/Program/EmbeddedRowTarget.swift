import Base
import ChatCore

@testable import EmbeddedCore

extension Target {
    static let embeddedRow = Target("chat-row", "rows of the embedded core", longest: 512) { bytes in
        chats.with(bytes, in: chatFiles) { connection in
            let tables = DirectoryTables(connection, elapsed: ElapsedTime(nanoseconds: 0))
            let item = try tables.tables(of: 1, .init(filesPath: "/files", progress: [:])).items.item(
                ItemID(1))
            hold(item?.file != nil, "an item with a file is one")
            hold(item?.file?.source.map { $0.path.hasPrefix("/files/") } ?? true, "it lies in the folder")
            _ = try tables.chats.all(of: 1)
        }
    }

    private static let chatFiles = FuzzedTable(
        "file",
        [
            "name", "size", "transport", "status", "problem", "problem_sentence", "stored_name", "key",
            "nonce", "expires", "description",
        ], fixed: ["profile": 1, "item": 1, "created": 0])

    private static let chats = IndexFixture(
        "embedded", Schema.migrations,
        rows: """
            INSERT INTO profile (id, name, created) VALUES (1, 'a', 0), (2, 'b', 0);
            INSERT INTO chat (id, profile, kind, contact, updated) VALUES (1, 1, 'direct', 2, 0);
            INSERT INTO item (id, profile, chat, direction, sender, time, created, kind, preview, seconds, text)
                VALUES (1, 1, 1, 'received', 'b', 0, 0, 'file', '', 0, '');
            """)
}
