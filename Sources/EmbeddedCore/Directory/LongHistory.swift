import Base
import ChatCore

/// Writes groups with many offered files through the usual tables, as if sent over years. For measurements
/// and tests. All methods block.
package struct LongHistory: Sendable {
    private let directory: DataDirectory
    private let reader: Profile
    private let sender: Profile

    /// Time of the first message.
    private static let beginning = Timestamp(seconds: 1_600_000_000)

    /// Creates the profiles `reader` and `sender`. The reader gets the history.
    package init(in directory: DataDirectory, reader: String, sender: String) throws(ChatError) {
        self.directory = directory
        self.reader = try directory.createProfile(reader)
        self.sender = try directory.createProfile(sender)
    }

    /// Creates the groups `chat 0`, `chat 1`, … with files `file 0.bin`, `file 1.bin`, … in one transaction.
    /// A million files take about 20 s. Call once, before the reader is mounted.
    /// - Parameter counts: number of files per group.
    package func write(chatsOf counts: [Int]) throws(ChatError) -> [ChatReference] {
        try directory.wrapping {
            try directory.store.change { tables in
                var time = Self.beginning
                return try counts.enumerated().map { number, count in
                    let group = try tables.chats.insertGroup("chat \(number)", at: time)
                    let side = try tables.chats.addMember(reader.id, as: .owner, to: group, at: time)
                    for file in 0..<count {
                        time = time.advanced(by: .seconds(60))
                        _ = try insert("file \(file).bin", sentAt: time, to: side, tables)
                    }
                    try tables.chats.noteMessage(in: side.chat, at: time)
                    return StoredChatKind.group.reference(side.chat)
                }
            }
        }
    }

    /// Commits one more file in a group and signals the reader's process.
    package func deliver(_ name: String, in chat: ChatReference) throws(ChatError) {
        try deliver([name], in: chat)
    }

    /// Commits several files in one transaction.
    package func deliver(_ names: [String], in chat: ChatReference) throws(ChatError) {
        let now = directory.clock.now()
        try directory.changeAndSignal { tables in
            let side = ChatSide(profile: reader.id, chat: try tables.chats.id(of: chat, of: reader.id))
            for name in names {
                let item = try insert(name, sentAt: now, to: side, tables)
                try tables.inbox.post(.newItem(item), to: side)
            }
            try tables.chats.noteMessage(in: side.chat, at: now)
        }
    }

    /// Deletes a group's `count` newest messages as if their sender did, for everyone.
    package func withdraw(_ count: Int, in chat: ChatReference) throws(ChatError) {
        try directory.changeAndSignal { tables in
            let side = ChatSide(profile: reader.id, chat: try tables.chats.id(of: chat, of: reader.id))
            let items = tables.tables(
                of: sender.id, ItemTable.FileContext(filesPath: "", progress: [:])
            ).items
            for item in try items.ids(in: side.chat).sorted(by: { $0.rawValue > $1.rawValue }).prefix(count) {
                try items.delete(item)
                try tables.inbox.post(.deleted(item, storedName: nil), to: side)
            }
        }
    }

    private func insert(
        _ name: String, sentAt time: Timestamp, to side: ChatSide, _ tables: DirectoryTables
    ) throws -> ItemID {
        let message = ComposedMessage(
            id: "", fileName: name, size: 1 << 20, source: FileSourceLocation(path: "", arguments: nil),
            content: MessageContent(kind: .file))
        let envelope = ItemTable.Envelope(
            message: message, transport: .xftp, created: time, expires: nil, recipients: 1)
        let context = ItemTable.FileContext(filesPath: "", progress: [:])
        // The sender has no side of its own, and none is needed.
        return try tables.tables(of: sender.id, context).items.insertReceived(
            envelope, by: side, origin: ItemID(0), number: 0, inlineContent: nil)
    }
}
