import Base
import ChatCore
import Store

/// Durable copies that ChatFS received itself. A core that gave up a file, such as when its relay died in the
/// middle of a chunk, takes no second order for it (`/freceive` says that it is receiving, `/fcancel` that it
/// is cancelled; seen with 6.4.5). The copies lie beside what was sent, encrypted, each under a key of its own
/// that only the index has.
struct KeptCopyTable {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

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

    /// Where the copy was, for who removes it.
    func forget(_ file: FileID) throws -> String? {
        guard let source = try source(of: file) else { return nil }
        try connection.execute("DELETE FROM kept WHERE file = ?", file.rawValue)
        return source.path
    }
}
