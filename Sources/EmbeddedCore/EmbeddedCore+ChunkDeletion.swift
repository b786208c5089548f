import Base
import ChatCore
import Store

/// Deleting from relays what was sent: noted in the transaction that makes it necessary, tried until
/// the relays have answered or would have forgotten the chunks anyway.
extension EmbeddedCore {
    func scheduleChunkDeletion(
        of file: Int64, _ remains: UploadRemains, _ connection: Connection
    ) throws {
        try connection.execute(
            """
            INSERT INTO chunk_deletion (file, profile, sender_description, upload_state, link_description, created)
            VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (file) DO UPDATE SET
                sender_description = coalesce(excluded.sender_description, sender_description),
                upload_state = coalesce(excluded.upload_state, upload_state),
                link_description = coalesce(excluded.link_description, link_description)
            """, file, profile.id, remains.senderDescription, remains.state, remains.linkDescription,
            directory.clock.now())
    }

    /// Starts whatever is waiting. An upload that is still ending is waited for.
    func startChunkDeletions() {
        Task { [weak self] in
            guard let self else { return }
            let files = await attempt("look for chunks that are to be deleted") { [self] in
                try read { context in
                    try context.connection.query(
                        "SELECT file FROM chunk_deletion WHERE profile = ?", profile.id
                    ) { FileID($0.integer(0)) }
                }
            }
            for file in files ?? [] {
                desk.start(file, in: .deletion) { [weak self] in await self?.deleteChunks(of: file) ?? false }
            }
        }
    }

    /// One try. True when another is worth it.
    private func deleteChunks(of file: FileID) async -> Bool {
        let job = await attempt("find chunks that are to be deleted") { [self] in
            try read { context in
                try context.connection.first(
                    """
                    SELECT sender_description, upload_state, created, link_description FROM chunk_deletion
                    WHERE file = ?
                    """, file.rawValue
                ) { row in
                    (
                        remains: UploadRemains(
                            senderDescription: row.textOrNil(0), state: row.bytesOrNil(1),
                            linkDescription: row.textOrNil(3)),
                        created: row.timestamp(2)
                    )
                }
            }
        }
        guard let job = job ?? nil else { return false }
        do throws(TransferFailure) {
            try await transfers.deleteChunks(of: job.remains)
        } catch {
            if Task.isCancelled { return false }
            let isOver = directory.clock.now() > job.created.advanced(by: Self.relayExpiry)
            if error.isTemporary && !isOver { return true }
            log.notice("Chunks could not be deleted from a relay: \(error.problem.sentence)")
        }
        await attempt("forget chunks that are deleted") { [self] in
            try commit {
                try $0.connection.execute("DELETE FROM chunk_deletion WHERE file = ?", file.rawValue)
            }
        }
        return false
    }
}
