import Base

extension FilePolicy {
    /// Maximum age of an own message that can be deleted for everyone, as in official apps (`x.msg.del`).
    public static let deletableForEveryone = Duration.seconds(24 * 3600)
}

extension ChatItem {
    /// Whether its file is not fully sent. A note stays `sndStored`, as it is never sent.
    public var isBeingSent: Bool {
        switch file?.status {
        case .sndStored where file?.transport == .local: false
        case .sndStored, .sndTransfer, .sndWarning: true
        default: false
        }
    }

    /// Returns why it cannot be deleted for everyone, as a sentence; nil if it can. Notes and links have no
    /// other readers.
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
    /// Deletes items with their files. First cancels those still being sent, which deletes their chunks and
    /// tells recipients.
    /// - Parameter items: items of one chat.
    /// - Throws: the errors of `deleteItems` and `cancelFile`.
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
                    // Its transfer ended or it was deleted meanwhile.
                    guard error.code == .invalidCommand || error.code == .noSuchFile else { throw error }
                }
            }
        }
        try await deleteItems(items.map(\.id), in: chat, mode: isShared ? mode : .internal)
    }
}
