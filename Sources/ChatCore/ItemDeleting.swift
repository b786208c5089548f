import Base

extension FilePolicy {
    /// How old an own message may be that is deleted for everyone, as official programs have it (`x.msg.del`).
    public static let deletableForEveryone = Duration.seconds(24 * 3600)
}

extension ChatItem {
    /// Whether its bytes have not all left this machine. A note stays `sndStored`: it goes nowhere.
    public var isBeingSent: Bool {
        switch file?.status {
        case .sndStored where file?.transport == .local: false
        case .sndStored, .sndTransfer, .sndWarning: true
        default: false
        }
    }

    /// Why it cannot be deleted for everyone, a sentence; nil where it can. Notes and links are nobody else's messages.
    public func refusesDeletionForEveryone(at now: Timestamp) -> String? {
        switch chat {
        case .notes, .links: return nil
        case .direct, .group: break
        }
        guard direction == .sent else { return "Only your own messages can be deleted for everyone." }
        guard now <= time.advanced(by: FilePolicy.deletableForEveryone) else {
            return "Only messages of the last 24 hours can be deleted for everyone."
        }
        return nil
    }
}

extension MessageSending where Self: FileTransferring {
    /// Deletes items with their files. One that is still being sent is taken back first: its upload ends, its chunks are
    /// deleted, and recipients that do not have it yet are told.
    /// - Parameter items: of one chat.
    /// - Throws: as `deleteItems` and `cancelFile`.
    public func delete(_ items: [ChatItem], mode: DeletionMode) async throws(ChatError) {
        guard let chat = items.first?.chat else { return }
        let isShared: Bool =
            switch chat {
            case .direct, .group: true
            case .notes, .links: false
            }
        if mode == .internal || !isShared {
            for item in items where item.isBeingSent && isShared {
                guard let file = item.file?.id else { continue }
                do throws(ChatError) {
                    try await cancelFile(file)
                } catch {
                    // It was sent meanwhile, within its message too, or somebody was faster.
                    guard error.code == .invalidCommand || error.code == .noSuchFile else { throw error }
                }
            }
        }
        try await deleteItems(items.map(\.id), in: chat, mode: isShared ? mode : .internal)
    }
}
