import Base
import ChatCore
import Store

/// Durable copies that ChatFS received itself. A core that has given up a file, for example because a relay
/// failed within a chunk, does not receive it again. `/freceive` reports that it is receiving, `/fcancel`
/// that it is cancelled (seen with 6.4.5). The copies are encrypted, each with its own key in the index.
struct KeptCopyTable {
    let connection: Connection

    func source(of file: FileID) throws -> FileSourceLocation? {
        try connection.first("SELECT path, key, nonce FROM kept WHERE file = ?", file.rawValue) { row in
            FileSourceLocation(
                path: row.text("path"),
                arguments: FileArguments(key: row.bytes("key"), nonce: row.bytes("nonce")))
        }
    }

    func put(_ file: FileID, at path: String, _ key: FileArguments) throws {
        try connection.execute(
            "INSERT OR REPLACE INTO kept (file, path, key, nonce) VALUES (?, ?, ?, ?)", file.rawValue, path,
            key.key, key.nonce)
    }

    /// Returns the path of the copy, for its deletion.
    func forget(_ file: FileID) throws -> String? {
        guard let source = try source(of: file) else { return nil }
        try connection.execute("DELETE FROM kept WHERE file = ?", file.rawValue)
        return source.path
    }

    /// All copies, oldest first.
    /// - Parameter staging: Folder of copies that are stored by name only.
    func all(in staging: String) throws -> [OfficialCopy] {
        try connection.query(
            """
            SELECT kept.file, kept.path, kept.key, kept.nonce, item.id, item.chat, item.name, item.size
            FROM kept LEFT JOIN item ON item.file = kept.file GROUP BY kept.file ORDER BY kept.file
            """
        ) { row in
            let item = row.integerOrNil("id")
            let path = row.text("path")
            return OfficialCopy(
                file: FileID(row.integer("file")), item: item.map(ItemID.init),
                chat: row.textOrNil("chat").flatMap { ChatReference($0) },
                name: row.textOrNil("name") ?? path.lastPathName ?? path,
                size: item == nil ? nil : row.unsigned("size"),
                source: FileSourceLocation(
                    path: path.isAbsolutePath ? path : "\(staging)/\(path)",
                    arguments: FileArguments(key: row.bytes("key"), nonce: row.bytes("nonce"))))
        }
    }

    /// Stores all copies by name only.
    func detach() throws { try connection.execute("UPDATE kept SET path = 'kept-' || file") }

    /// Sets the folder of copies that are stored by name only.
    func attach(to staging: String) throws {
        try connection.execute("UPDATE kept SET path = ? || '/' || path WHERE path NOT LIKE '/%'", staging)
    }
}
