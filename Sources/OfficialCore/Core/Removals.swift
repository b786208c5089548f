import Base
import ChatCore
import CoreServices

/// Cancels transfers and deletes items through the core.
struct Removals: Sendable {
    let connection: CoreConnection
    let index: IndexStore
    let recent: RecentEvents

    func cancel(_ file: FileID) async throws(ChatError) {
        let began = ContinuousClock.now
        let item: APIItem? =
            switch try await connection.answer(.cancelFile(file)) {
            case .rcvFileCancelled(_, let item), .sndFileCancelled(_, let item): item
            default: nil
            }
        guard let item else { return }
        await blocking.attempt("record that a file was cancelled") { [index, recent] in
            try index.commit { change in
                // The message is already deleted. Earlier progress does not contradict the cancellation.
                let isGone = try change.tables.items.item(item.id) == nil
                if isGone, recent.contains(item.id, since: began) { return }
                try change.take(item, .look)
            }
        }
    }

    func delete(
        _ items: [ItemID], in chat: ChatReference, mode: DeletionMode
    ) async throws(ChatError) {
        let parts = try await parts(of: items, in: chat, mode)
        if mode == .broadcast { try await withdraw(items) }
        for (part, items) in parts { try await delete(items, in: part, mode) }
    }

    /// Groups items by the part of the chat, because the core expects one command for each part of a group.
    /// - Throws: `.noSuchChat`; `.noSuchItem` if an item is not in this chat; `.invalidCommand` if `mode` is
    ///   not allowed.
    private func parts(
        of items: [ItemID], in chat: ChatReference, _ mode: DeletionMode
    ) async throws(ChatError) -> [(APIChatReference, [ItemID])] {
        let (known, absence) = try await index.reading { tables in
            let known = try items.map { try Self.place(of: $0, in: tables) }
            return (known, try tables.absence(in: chat))
        }
        guard !items.isEmpty || absence.code != .noSuchChat else { throw absence }
        var parts: [APIChatReference: [ItemID]] = [:]
        for (item, known) in zip(items, known) {
            let place: Place
            if let known {
                guard known.part.chat == chat else { throw absence }
                place = known
            } else {
                // Not in the index, such as a text.
                let part = APIChatReference(chat)
                guard let item = try await connection.knownItem(item, in: part) else { throw absence }
                place = Place(part: part, isSent: item.direction == .sent)
            }
            guard mode != .broadcast || place.isSent else {
                throw ChatError(.invalidCommand, "Only your own messages can be deleted for everyone.")
            }
            parts[place.part, default: []].append(item)
        }
        return parts.sorted { $0.key.description < $1.key.description }.map { ($0.key, $0.value) }
    }

    private struct Place {
        var part: APIChatReference
        var isSent: Bool
    }

    private static func place(of id: ItemID, in tables: IndexTables) throws -> Place? {
        guard let item = try tables.items.item(id), let text = try tables.items.reference(of: id),
            let part = APIChatReference(text: text)
        else { return nil }
        return Place(part: part, isSent: item.direction == .sent)
    }

    private func delete(
        _ items: [ItemID], in part: APIChatReference, _ mode: DeletionMode
    ) async throws(ChatError) {
        let response = try await connection.answer(.deleteItems(part, items, mode), timeout: .seconds(60))
        guard case .chatItemsDeleted(let deletions) = response else { return }
        let deleted = deletions.map(\.item.id)
        // Includes items that the index does not have yet, because a running request may return them.
        recent.note(deleted)
        guard !deleted.isEmpty else {
            throw APIError(path: ["errorStore", "chatItemNotFound"]).chatError
        }
        await blocking.attempt("record that a message is deleted") { [index] in
            try index.commit { try $0.remove(deleted, .deleted) }
        }
    }

    /// Deletes complete uploads from the relays, by cancelling their files before the messages are deleted.
    /// With the message alone, the core ends running transfers but leaves complete files on the relay for two
    /// days.
    private func withdraw(_ items: [ItemID]) async throws(ChatError) {
        let files = try await index.reading { tables in
            try items.compactMap { id -> FileID? in
                guard let item = try tables.items.item(id), item.direction == .sent,
                    let file = item.file, file.transport == .xftp, file.status == .sndComplete
                else { return nil }
                return file.id
            }
        }
        for file in files {
            // If refused, it was mostly cancelled before. The message is deleted anyway.
            _ = try await connection.answer(.cancelFile(file), unlessRefused: { _ in true })
        }
    }
}
