/// How far the bytes of an item's file are, in bytes as they travel.
///
/// It carries no item: a report may come after the change that ended its transfer, and must not bring an earlier state
/// back. It counts only while the file is on its way (`FileStatus.advanced`).
public struct FileProgress: Hashable, Sendable {
    public var chat: ChatReference
    public var item: ItemID
    public var file: FileID
    public var done: UInt64
    public var total: UInt64

    /// - Parameters:
    ///   - item: only its identifiers are used, which never change.
    ///   - file: of that item.
    public init(of file: FileID, in item: ChatItem, done: UInt64, total: UInt64) {
        (chat, self.item, self.file) = (item.chat, item.id, file)
        (self.done, self.total) = (done, total)
    }
}

extension FileStatus {
    /// The same state with these numbers; nil where the file is not on its way.
    public func advanced(by progress: FileProgress) -> FileStatus? {
        switch self {
        case .sndTransfer: .sndTransfer(sent: progress.done, total: progress.total)
        case .rcvTransfer: .rcvTransfer(received: progress.done, total: progress.total)
        default: nil
        }
    }
}

extension ChatItem {
    /// The item with these numbers; nil where the report is about another file, or its file is not on its way.
    public func advanced(by progress: FileProgress) -> ChatItem? {
        guard let file, file.id == progress.file, let status = file.status.advanced(by: progress) else {
            return nil
        }
        var item = self
        item.file?.status = status
        return item
    }
}
