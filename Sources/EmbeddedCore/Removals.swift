import Base
import ChatCore
import Glibc

/// Cancels transfers, and deletes items, chats and the profile.
struct Removals: Sendable {
    let store: ProfileStore
    let downloads: Downloads
    let deletions: ChunkDeletions
    let damaged: DamagedCopies

    /// Items of a deleted chat in one transaction.
    private static let deletedAtOnce = 20

    // MARK: - Transfers

    /// Cancels a transfer. A received file becomes an offer again. A sent file's chunks are deleted, even
    /// after completion, and recipients without the file are told.
    /// - Parameter isAwaited: whether to wait for the deletion of chunks, because the profile may be released
    ///   next.
    func cancel(_ file: FileID, isAwaited: Bool = false) async throws(ChatError) {
        try await blocking.run { [self] in
            try store.commit { change in
                guard let found = try change.tables.files.cancellable(file) else {
                    throw ChatError.noSuchFile
                }
                if found.isStandalone {
                    try change.scheduleChunkDeletion(ofUpload: file)
                    try change.tables.files.remove(file)
                } else if !found.status.isSent {
                    try cancelReceived(file, change)
                } else {
                    guard found.transport == .xftp else {
                        throw ChatError(.invalidCommand, "The file has been delivered with its message.")
                    }
                    try cancelSent(file, change)
                    if StoredFileStatus.uploading.contains(found.status) {
                        try change.startExpiry(of: file)
                    } else {
                        try change.noteAnnounced(file)
                    }
                }
            }
        }
        await downloads.end(file)
        if isAwaited { await deletions.tryOnce(file) } else { deletions.start() }
    }

    private func cancelReceived(_ file: FileID, _ change: ProfileChange) throws {
        guard
            try change.setStatus(
                .rcvInvitation, of: file, from: StoredFileStatus.offered + StoredFileStatus.downloading)
        else { throw ChatError(.invalidCommand, "The file transfer is over.") }
        try change.tables.downloads.decline(file)
        try change.tell(.updated, of: file)
    }

    private func cancelSent(_ file: FileID, _ change: ProfileChange) throws {
        guard
            try change.setStatus(
                .sndCancelled, of: file, from: StoredFileStatus.uploading + [.sndError, .sndComplete])
        else { throw ChatError(.invalidCommand, "The file transfer is cancelled already.") }
        try change.scheduleChunkDeletion(ofUpload: file)
        for copy in try change.tables.items.copies(of: file)
        where try change.tables.uploads.withdraw(copy.file) {
            try change.post(.cancelled(copy.item), to: copy.side)
        }
        try change.notifyContact(ofFile: file) { .fileCancelled($0) }
        try change.tell(.updated, of: file)
    }

    // MARK: - Local copies

    /// Deletes a received file's local copy but keeps its message. If relays still have the file, it becomes
    /// an offer that is not received automatically. The file is unlinked after its row; the next start
    /// removes one left by a crash.
    /// - Parameter lastCopyToo: whether to delete copies that no relay has.
    /// - Returns: false if the copy was kept: a last copy, a sent file, or no local copy.
    func free(_ file: FileID, lastCopyToo: Bool) async throws(ChatError) -> Bool {
        try await blocking.run { [self] in
            let isFreed = try store.commit(frees: true) { change in
                try free(file, lastCopyToo: lastCopyToo, change)
            }
            // The journal still holds the key.
            if isFreed { store.tryToEmptyJournal() }
            return isFreed
        }
    }

    private func free(_ file: FileID, lastCopyToo: Bool, _ change: ProfileChange) throws -> Bool {
        guard let item = try change.tables.items.item(of: file) else { throw ChatError.noSuchFile }
        guard let name = try change.tables.downloads.receivedCopy(of: file) else { return false }
        let isOnRelay =
            try change.tables.downloads.replaceableCopy(of: file) != nil
            && item.file?.expires.map { $0 > store.clock.now() } ?? false
        if isOnRelay {
            try change.tables.downloads.offerAgain(file)
            try change.tables.downloads.decline(file)
        } else {
            guard lastCopyToo else { return false }
            try change.tables.downloads.letGo(
                of: file,
                FileProblem(.expired, "Its copy was deleted here, and relays do not have it any more."))
        }
        change.abandon(name)
        try change.tell(.updated, of: file)
        return true
    }

    // MARK: - Items

    /// Deletes items with their files, all or none. Stops transfers under way and deletes their chunks.
    /// `.broadcast` also deletes finished uploads from relays.
    /// - Parameter mayBeGone: whether to skip items that were deleted meanwhile.
    func delete(
        _ items: [ItemID], in chat: ChatReference, mode: DeletionMode, _ reason: DeletionReason = .deleted,
        mayBeGone: Bool = false
    ) async throws(ChatError) {
        let files = try await blocking.run { [self] in
            let files = try store.commit(frees: true) { change in
                let id = try change.tables.chats.id(of: chat, of: store.profile.id)
                let files = try items.compactMap {
                    try delete($0, in: id, mode, reason, mayBeGone: mayBeGone, change)
                }
                change.tell(.chatItemsDeleted(items.map { (chat, $0) }, reason))
                return files
            }
            // The journal still holds the keys. If another process is reading, the next attempt empties it.
            store.tryToEmptyJournal()
            return files
        }
        for file in files {
            await downloads.end(file)
            await blocking.attempt("remove a damaged copy") { [damaged] in damaged.remove(of: file) }
        }
        deletions.start()
    }

    private func delete(
        _ item: ItemID, in chat: Int64, _ mode: DeletionMode, _ reason: DeletionReason, mayBeGone: Bool,
        _ change: ProfileChange
    ) throws -> FileID? {
        guard let found = try change.tables.items.deletable(item, in: chat) else {
            if mayBeGone || reason == .disappeared { return nil }
            throw ChatError.noSuchItem
        }
        if mode == .broadcast { try deleteCopies(of: found, item, in: chat, change) }
        // Expired files are deleted from relays too.
        let takesBack = mode == .broadcast || reason == .disappeared
        if found.direction == .sent, takesBack || found.status != .sndComplete {
            try change.scheduleChunkDeletion(ofUpload: found.file)
        }
        change.abandon(found.storedName)
        if reason == .disappeared, let text = try change.tables.messageLog.text(of: item) {
            try change.blank(text)
        }
        try change.tables.items.delete(item)
        return found.file
    }

    /// Deletes an own message's copies at its recipients.
    private func deleteCopies(
        of item: ItemTable.Deletable, _ id: ItemID, in chat: Int64, _ change: ProfileChange
    ) throws {
        guard item.direction == .sent else {
            throw ChatError(.invalidCommand, "Only your own messages can be deleted for everyone.")
        }
        guard store.clock.now() <= item.created.advanced(by: FilePolicy.deletableForEveryone) else {
            throw ChatError(
                .invalidCommand, "Only messages of the last 24 hours can be deleted for everyone.")
        }
        try change.notifyContact(ofFile: item.file) { .deletion($0, author: nil) }
        try writeDeletion(of: id, .sent, to: ChatSide(profile: store.profile.id, chat: chat), change)
        for copy in try change.tables.items.copies(of: item.file) {
            try writeDeletion(of: copy.item, .received, to: copy.side, change)
            try change.tables.items.delete(copy.item)
            try change.post(.deleted(copy.item, storedName: copy.storedName), to: copy.side)
        }
    }

    /// No effect for messages without a log line.
    private func writeDeletion(
        of item: ItemID, _ direction: ChatItem.Direction, to side: ChatSide, _ change: ProfileChange
    ) throws {
        guard let message = try change.tables.messageLog.text(of: item) else { return }
        let sender = try change.tables.directory.profiles.name(of: store.profile.id)
        var line = MessageLine(
            .deletion, of: message.id, at: store.clock.now(), direction,
            by: sender ?? store.profile.displayName)
        if let author = message.author.flatMap(SharedMessageTable.author) { line.author = author }
        try change.write(line, to: side)
    }

    // MARK: - Chats and the profile

    /// Leaves a chat and deletes its local data. Other members keep theirs.
    func delete(_ chat: ChatReference) async throws(ChatError) {
        if case .notes = chat { throw ChatError(.invalidCommand, "Saved notes belong to the profile.") }
        let id = try await blocking.run { [store] in
            try store.commit(frees: true) { change in
                let id = try change.tables.chats.id(of: chat, of: store.profile.id)
                try change.tables.network.part(fromContactOf: id, at: change.elapsed)
                try change.announce(change.tables.chats.leave(id))
                return id
            }
        }
        try await deleteItems(of: chat, id)
        try await blocking.run { [store] in
            try store.commit(frees: true) { change in
                try change.tables.chats.remove(id)
                change.tell(.chatRemoved(chat))
            }
        }
    }

    private func deleteItems(of chat: ChatReference, _ id: Int64) async throws(ChatError) {
        let items = try await store.reading { try $0.items.ids(in: id) }
        // In steps that need no more than the reserved space of a full disk.
        for start in stride(from: 0, to: items.count, by: Self.deletedAtOnce) {
            let step = items[start..<min(start + Self.deletedAtOnce, items.count)]
            try await delete(Array(step), in: chat, mode: .internal, mayBeGone: true)
        }
    }

    /// Deletes the profile's data from the database. Contacts keep their messages; chunks of unfinished
    /// uploads stay on relays until they expire.
    func deleteProfile() async throws(ChatError) {
        let chats = try await store.reading { [store] in try $0.chats.all(of: store.profile.id) }
        for chat in chats {
            if case .notes(let id) = chat.reference {
                try await deleteItems(of: chat.reference, id)
            } else {
                try await delete(chat.reference)
            }
        }
        try await store.committing { [store] change in
            let profile = store.profile.id
            try change.announce(change.tables.chats.sides(ofContact: profile))
            try change.tables.chats.forgetContact(profile)
            try change.tables.directory.profiles.remove(profile)
        }
    }
}
