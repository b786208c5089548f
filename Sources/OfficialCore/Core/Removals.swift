import ChatCore

extension OfficialCore {
    public func deleteItems(
        _ items: [ItemID], in chat: ChatReference, mode: DeletionMode
    ) async throws(ChatError) {
        if mode == .broadcast { try await withdraw(items) }
        // Parts of a group are spoken of one by one.
        let parts = try await work { [self] in
            try index.read { connection in
                var parts: [String: [ItemID]] = [:]
                for item in items {
                    let reference = try ItemRows.reference(of: item, connection) ?? chat.description
                    parts[reference, default: []].append(item)
                }
                return parts
            }
        }
        for (text, items) in parts.sorted(by: { $0.key < $1.key }) {
            guard let reference = APIChatReference(text: text) else { continue }
            do throws(OfficialCoreError) {
                let response = try await ask(.deleteItems(reference, items, mode), timeout: .seconds(60))
                guard case .chatItemsDeleted(let deletions) = response else { continue }
                let deleted = deletions.map(\.item.id)
                guard !deleted.isEmpty else {
                    throw OfficialCoreError(
                        refusal: APIError(path: ["errorStore", "chatItemNotFound"]))
                }
                await attempt("note that a message is deleted") { [self] in
                    try commit { try $0.remove(deleted, .deleted) }
                }
            } catch {
                throw error.chatError
            }
        }
    }

    /// With a message the core ends a transfer under way, but leaves what is complete on the relay for two
    /// days: that it deletes only when it is told to cancel the file, while it has the message.
    private func withdraw(_ items: [ItemID]) async throws(ChatError) {
        let files = try await work { [self] in
            try index.read { connection in
                try items.compactMap { id -> FileID? in
                    guard let item = try ItemRows.item(id, connection), item.direction == .sent,
                        let file = item.file, file.transport == .xftp, file.status == .sndComplete
                    else { return nil }
                    return file.id
                }
            }
        }
        for file in files {
            do throws(OfficialCoreError) {
                _ = try await ask(.cancelFile(file))
            } catch {
                // Refused: cancelled before, mostly. The message goes all the same.
                guard error.refusal != nil else { throw error.chatError }
            }
        }
    }
}
