import ChatCore

/// Opening a file is reading its message: the core then starts the time of a disappearing one, and counts it no
/// longer among the unread.
extension OfficialCore {
    public func noteOpened(_ item: ItemID, in chat: ChatReference) {
        guard settings.marksRead, state.withLock({ $0.opened.insert(item).inserted }) else { return }
        Task { [weak self] in await self?.markRead(item) }
    }

    /// What was opened while the core was away.
    func reportOpened() {
        let items = state.withLock { state in
            defer { state.unreported = [] }
            return state.unreported
        }
        for item in items { Task { [weak self] in await self?.markRead(item) } }
    }

    /// Once an item, over mounts too. In the lane of the background: nobody waits for it.
    private func markRead(_ item: ItemID) async {
        do throws(ChatError) {
            let text = try await work { [self] in
                try index.read { try ItemRows.unreadReference(of: item, $0) }
            }
            guard let text, let chat = APIChatReference(text: text) else { return }
            do throws(OfficialCoreError) {
                _ = try await transport.request(
                    .markRead(chat, [item]), lane: .background, timeout: .seconds(60))
            } catch {
                guard error.refusal == nil else { throw error.chatError }
                state.withLock { _ = $0.unreported.insert(item) }
                return
            }
            try await work { [self] in
                _ = try index.transaction { try ItemRows.noteRead(item, $0) }
            }
        } catch {
            log.information("a message could not be marked as read: \(error.sentence)")
        }
    }
}
