import ChatCore

extension OfficialCore {
    public func deleteItems(
        _ items: [ItemID], in chat: ChatReference, mode: DeletionMode
    ) async throws(ChatError) {
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
                _ = try? await work { [self] in try commit { try $0.remove(deleted) } }
            } catch {
                throw error.chatError
            }
        }
    }
}
