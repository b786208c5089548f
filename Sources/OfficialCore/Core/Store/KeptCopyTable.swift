import Base
import ChatCore
import Glibc
import Posix
import Store

/// Durable copies that ChatFS received itself. A core that gave up a file, such as when its relay died in the
/// middle of a chunk, takes no second order for it (`/freceive` says that it is receiving, `/fcancel` that it
/// is cancelled; seen with 6.4.5). The copies lie beside what was sent, encrypted, each under a key of its own
/// that only the index has.
enum KeptCopies {
    static func source(of file: FileID, _ connection: Connection) throws -> FileSourceLocation? {
        try connection.first("SELECT path, key, nonce FROM kept WHERE file = ?", file.rawValue) { row in
            FileSourceLocation(
                path: row.text(0), arguments: FileArguments(key: row.bytes(1), nonce: row.bytes(2)))
        }
    }

    static func note(_ file: FileID, at path: String, _ key: FileArguments, _ connection: Connection) throws {
        try connection.execute(
            "INSERT OR REPLACE INTO kept (file, path, key, nonce) VALUES (?, ?, ?, ?)", file.rawValue, path,
            key.key, key.nonce)
    }

    /// Where the copy was, for who removes it.
    static func forget(_ file: FileID, _ connection: Connection) throws -> String? {
        guard let source = try source(of: file, connection) else { return nil }
        try connection.execute("DELETE FROM kept WHERE file = ?", file.rawValue)
        return source.path
    }
}

extension OfficialCore {
    /// A received CryptoFile becomes the durable copy of a file that the core gave up; nil when the core has
    /// one, or may still get it. Blocks.
    func keep(_ file: FileID, _ staged: FileSourceLocation) throws -> FileSourceLocation? {
        guard let key = staged.arguments,
            let item = try index.read({ try ItemRows.item(of: file, $0) }),
            item.file?.status.isGivenUp == true
        else { return nil }
        let kept = FileSourceLocation(path: "\(stagingFolder)/kept-\(file.rawValue)", arguments: key)
        try check("keep a received file") { rename(staged.path, kept.path) }
        try OpenFile(stagingFolder, flags: O_RDONLY | O_DIRECTORY).synchronise()
        try commit(durably: true) { change in
            try KeptCopies.note(file, at: kept.path, key, change.connection)
            try change.setStatus(.rcvComplete, of: file, source: kept) { .rcvFileComplete($0) }
        }
        return kept
    }
}
