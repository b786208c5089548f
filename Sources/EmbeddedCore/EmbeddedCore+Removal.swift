import Base
import ChatCore
import Glibc
import Store

extension EmbeddedCore {
    /// How old an own message may be that is deleted for everyone.
    static let deletionWindow = Duration.seconds(24 * 3600)

    /// Cancels a transfer. One that is received becomes an offer again; of one that is sent the chunks
    /// are deleted and the recipients that do not have it yet are told, also when it was complete.
    public func cancelFile(_ file: FileID) async throws(ChatError) {
        try await work { [self] in
            try commit { change in
                let found = try change.connection.first(
                    "SELECT status, transport, item IS NULL FROM file WHERE id = ? AND profile = ?",
                    file.rawValue, profile.id
                ) { ($0.text(0), $0.text(1), $0.bool(2)) }
                guard let (status, transport, isStandalone) = found else { throw ChatError.noSuchFile }
                if isStandalone {
                    try abandonUpload(file, change)
                    try change.connection.execute("DELETE FROM file WHERE id = ?", file.rawValue)
                } else if status.hasPrefix("rcv") {
                    try cancelReceived(file, change)
                } else {
                    guard transport == "xftp" else {
                        throw ChatError(.invalidCommand, "The file has been delivered with its message.")
                    }
                    try cancelSent(file, change)
                }
            }
        }
        await end(file)
        startChunkDeletions()
    }

    /// Stops a transfer and removes what it has received so far.
    func end(_ file: FileID) async {
        desk.endClaim(file)
        await desk.stop(file)
        let incoming = folders.incomingPath(of: file)
        // Mostly nothing is there.
        _ = try? await work { unlink(incoming) }
    }

    private func cancelReceived(_ file: FileID, _ change: Change) throws {
        guard
            try change.setStatus(
                "rcv_invitation", ofFile: file.rawValue,
                from: ["rcv_invitation", "rcv_accepted", "rcv_transfer", "rcv_warning", "rcv_aborted"])
        else { throw ChatError(.invalidCommand, "The file transfer is over.") }
        try change.connection.execute(
            "UPDATE file SET to_receive = 0, approved = 0, key = NULL, nonce = NULL WHERE id = ?",
            file.rawValue)
        try change.tell({ .chatItemUpdated($0) }, ofFile: file.rawValue)
    }

    private func cancelSent(_ file: FileID, _ change: Change) throws {
        guard
            try change.setStatus(
                "snd_cancelled", ofFile: file.rawValue,
                from: ["snd_stored", "snd_transfer", "snd_warning", "snd_error", "snd_complete"])
        else { throw ChatError(.invalidCommand, "The file transfer is cancelled already.") }
        try abandonUpload(file, change)
        for copy in try receivedCopies(of: file, change.connection) {
            let changed = try change.connection.execute(
                """
                UPDATE file SET status = 'rcv_cancelled', description = NULL
                WHERE id = ? AND status NOT IN ('rcv_complete', 'rcv_error')
                """, copy.file)
            if changed > 0 {
                try change.post(.cancelled(item: copy.item, chat: copy.chat), to: copy.profile)
            }
        }
        try change.tell({ .chatItemUpdated($0) }, ofFile: file.rawValue)
    }

    /// Deletes items, all of them or, when one of them cannot be, none. Their files go with them; a
    /// transfer under way ends, and its chunks are deleted. For everyone, finished uploads are deleted
    /// from the relays too.
    public func deleteItems(
        _ items: [ItemID], in chat: ChatReference, mode: DeletionMode
    ) async throws(ChatError) {
        let files = try await work { [self] in
            let files = try commit { change in
                let id = try chatID(chat, change.connection)
                let files = try items.map { try delete($0.rawValue, chat: id, mode, change) }
                change.tell(.chatItemsDeleted(items.map { (chat, $0) }, .deleted))
                return files
            }
            // The journal still holds the keys until it is emptied: by the next process, where one is reading now.
            try? directory.database.checkpoint()
            return files
        }
        for file in files {
            await end(file)
            _ = try? await work { [damaged] in damaged.remove(of: file) }
        }
        startChunkDeletions()
    }

    private func delete(_ item: Int64, chat: Int64, _ mode: DeletionMode, _ change: Change) throws -> FileID {
        let found = try change.connection.first(
            """
            SELECT f.id, f.status, f.stored_name, i.direction, i.created FROM item i
            JOIN file f ON f.item = i.id WHERE i.id = ? AND i.chat = ?
            """, item, chat
        ) { (FileID($0.integer(0)), $0.text(1), $0.textOrNil(2), $0.text(3), $0.timestamp(4)) }
        guard let (file, status, storedName, direction, created) = found else { throw ChatError.noSuchItem }
        if mode == .broadcast {
            guard direction == "sent" else {
                throw ChatError(.invalidCommand, "Only your own messages can be deleted for everyone.")
            }
            guard directory.clock.now() <= created.advanced(by: Self.deletionWindow) else {
                throw ChatError(
                    .invalidCommand, "Only messages of the last 24 hours can be deleted for everyone.")
            }
            for copy in try receivedCopies(of: file, change.connection) {
                try change.connection.execute("DELETE FROM item WHERE id = ?", copy.item)
                try change.post(
                    .deleted(item: copy.item, chat: copy.chat, storedName: copy.storedName),
                    to: copy.profile)
            }
        }
        if direction == "sent", mode == .broadcast || status != "snd_complete" {
            try abandonUpload(file, change)
        }
        change.abandon(storedName)
        try change.connection.execute("DELETE FROM item WHERE id = ?", item)
        return file
    }
}
