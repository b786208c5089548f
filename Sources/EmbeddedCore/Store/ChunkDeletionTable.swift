import Base
import ChatCore
import Store

/// Pending deletions of chunks on relays, by file. The file's row may be gone.
struct ChunkDeletionTable {
    let connection: Connection
    let profile: Int64

    struct Deletion: Sendable {
        var uploaded: UploadedChunks
        var created: Timestamp
    }

    /// Adds to a pending deletion of the file.
    func add(_ uploaded: UploadedChunks, of file: FileID, at time: Timestamp) throws {
        try connection.execute(
            """
            INSERT INTO chunk_deletion (file, profile, sender_description, upload_state, link_description, created)
            VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (file) DO UPDATE SET
                sender_description = coalesce(excluded.sender_description, sender_description),
                upload_state = coalesce(excluded.upload_state, upload_state),
                link_description = coalesce(excluded.link_description, link_description)
            """, file.rawValue, profile, uploaded.senderDescription, uploaded.state, uploaded.linkDescription,
            time)
    }

    func files() throws -> [FileID] {
        try connection.query("SELECT file FROM chunk_deletion WHERE profile = ?", profile) {
            FileID($0.integer("file"))
        }
    }

    func deletion(of file: FileID) throws -> Deletion? {
        try connection.first(
            """
            SELECT sender_description, upload_state, created, link_description FROM chunk_deletion
            WHERE file = ?
            """, file.rawValue
        ) { Deletion(uploaded: UploadedChunks($0), created: $0.timestamp("created")) }
    }

    func remove(_ file: FileID) throws {
        try connection.execute("DELETE FROM chunk_deletion WHERE file = ?", file.rawValue)
    }
}
