/// Progress of an item's file, in encrypted bytes.
///
/// It contains no item, because it may arrive after the end of its transfer and must not restore an old
/// state. Ignored unless the file is in transfer (`FileStatus.advanced`).
public struct FileProgress: Hashable, Sendable {
    public var chat: ChatReference
    public var item: ItemID
    public var file: FileID
    public var done: UInt64
    public var total: UInt64

    /// - Parameters:
    ///   - item: used for its ids only.
    ///   - file: file of that item.
    public init(of file: FileID, in item: ChatItem, done: UInt64, total: UInt64) {
        (chat, self.item, self.file) = (item.chat, item.id, file)
        (self.done, self.total) = (done, total)
    }
}

extension FileStatus {
    /// Returns the state with this progress; nil if the file is not in transfer.
    public func advanced(by progress: FileProgress) -> FileStatus? {
        switch self {
        case .sndTransfer: .sndTransfer(sent: progress.done, total: progress.total)
        case .rcvTransfer: .rcvTransfer(received: progress.done, total: progress.total)
        default: nil
        }
    }
}

extension ChatItem {
    /// Returns the item with this progress; nil for another file, or one not in transfer.
    public func advanced(by progress: FileProgress) -> ChatItem? {
        guard let file, file.id == progress.file, let status = file.status.advanced(by: progress) else {
            return nil
        }
        var item = self
        item.file?.status = status
        return item
    }
}
