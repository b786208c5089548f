import Base
import ChatCore
import CoreServices

/// Cancelling transfers and deleting items, through the core.
struct Removals: Sendable {
    private let connection: CoreConnection
    private let index: IndexStore

    init(_ connection: CoreConnection, _ index: IndexStore) {
        self.connection = connection
        self.index = index
    }

    func cancel(_ file: FileID) async throws(ChatError) {
        do throws(OfficialCoreError) {
            let response = try await connection.ask(.cancelFile(file))
            let item: APIItem? =
                switch response {
                case .rcvFileCancelled(_, let item), .sndFileCancelled(_, let item): item
                default: nil
                }
            guard let item else { return }
            await blocking.attempt("note that a file was cancelled") { [index] in
                try index.commit { try $0.take(item, .look) }
            }
        } catch {
            throw error.chatError
        }
    }

    func delete(
        _ items: [ItemID], in chat: ChatReference, mode: DeletionMode
    ) async throws(ChatError) {
        if mode == .broadcast { try await withdraw(items) }
        // Parts of a group are spoken of one by one.
        let parts = try await blocking.run { [index] in
            try index.read { tables in
                var parts: [String: [ItemID]] = [:]
                for item in items {
                    let reference = try tables.items.reference(of: item) ?? chat.description
                    parts[reference, default: []].append(item)
                }
                return parts
            }
        }
        for (text, items) in parts.sorted(by: { $0.key < $1.key }) {
            guard let part = APIChatReference(text: text) else { continue }
            try await delete(items, in: part, mode)
        }
    }

    private func delete(
        _ items: [ItemID], in part: APIChatReference, _ mode: DeletionMode
    ) async throws(ChatError) {
        do throws(OfficialCoreError) {
            let response = try await connection.ask(.deleteItems(part, items, mode), timeout: .seconds(60))
            guard case .chatItemsDeleted(let deletions) = response else { return }
            let deleted = deletions.map(\.item.id)
            guard !deleted.isEmpty else {
                throw OfficialCoreError(refusal: APIError(path: ["errorStore", "chatItemNotFound"]))
            }
            await blocking.attempt("note that a message is deleted") { [index] in
                try index.commit { try $0.remove(deleted, .deleted) }
            }
        } catch {
            throw error.chatError
        }
    }

    /// With a message the core ends a transfer under way, but leaves what is complete on the relay for two
    /// days: that it deletes only when it is told to cancel the file, while it has the message.
    private func withdraw(_ items: [ItemID]) async throws(ChatError) {
        let files = try await blocking.run { [index] in
            try index.read { tables in
                try items.compactMap { id -> FileID? in
                    guard let item = try tables.items.item(id), item.direction == .sent,
                        let file = item.file, file.transport == .xftp, file.status == .sndComplete
                    else { return nil }
                    return file.id
                }
            }
        }
        for file in files {
            do throws(OfficialCoreError) {
                _ = try await connection.ask(.cancelFile(file))
            } catch {
                // Refused: cancelled before, mostly. The message goes all the same.
                guard error.refusal != nil else { throw error.chatError }
            }
        }
    }
}
