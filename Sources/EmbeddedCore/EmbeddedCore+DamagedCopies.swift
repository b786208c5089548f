import ChatCore
import Store

extension EmbeddedCore {
    /// A received file whose description is here becomes an offer again; of every other one the damaged copy
    /// stays where it is, too.
    public func giveUpCopy(
        of file: FileID, at location: FileSourceLocation
    ) async throws(ChatError) -> GivenUpCopy {
        try await work { [self] in
            guard let item = try item(of: file) else { throw ChatError.noSuchFile }
            // Another copy has come meanwhile.
            guard item.file?.source == location else { return .offered(item) }
            try damaged.setAside(location, of: file)
            let isOffered = try commit { try offerAgain(file, at: location, $0) }
            guard isOffered, let item = try self.item(of: file) else {
                return .lost(FileProblem.damagedCopy.mentioning(damaged.remains(of: file)))
            }
            return .offered(item)
        }
    }

    private func item(of file: FileID) throws -> ChatItem? {
        try read { try ItemRows.item(ofFile: file.rawValue, of: profile.id, $0) }
    }

    private func offerAgain(_ file: FileID, at location: FileSourceLocation, _ change: Change) throws -> Bool
    {
        let name = try change.connection.first(
            """
            SELECT stored_name FROM file WHERE id = ? AND profile = ? AND status = 'rcv_complete'
            AND description IS NOT NULL AND stored_name IS NOT NULL
            """, file.rawValue, profile.id
        ) { $0.text(0) }
        guard let name, folders.filesPath + "/" + name == location.path else { return false }
        // The next copy has a key of its own.
        try change.connection.execute(
            """
            UPDATE file SET status = 'rcv_invitation', problem = NULL, problem_sentence = NULL,
                stored_name = NULL, key = NULL, nonce = NULL
            WHERE id = ?
            """, file.rawValue)
        change.abandon(name)
        try change.tell({ .chatItemUpdated($0) }, ofFile: file.rawValue)
        return true
    }

    /// Removes damaged copies of files that are gone, or have a good one. Blocks.
    func sweepDamagedCopies() throws {
        for file in damaged.files {
            let isWanted = try read { context in
                try context.connection.exists(
                    """
                    SELECT 1 FROM file WHERE id = ? AND profile = ?
                    AND (status != 'rcv_complete' OR description IS NULL)
                    """, file.rawValue, profile.id)
            }
            if !isWanted { damaged.remove(of: file) }
        }
    }
}
