import Base
import ChatCore

/// Groups full of offered files, written at once as a sender's process would have over the years; for measurements
/// and tests of long histories. What it writes goes through the same tables as what is sent. All methods block.
package struct LongHistory: Sendable {
    private let directory: DataDirectory
    private let reader: Profile
    private let sender: Profile

    /// When the first of its messages was sent.
    private static let beginning = Timestamp(seconds: 1_600_000_000)

    /// Makes two profiles: `reader`, whose history it is, and `sender`.
    package init(in directory: DataDirectory, reader: String, sender: String) throws(ChatError) {
        self.directory = directory
        self.reader = try directory.createProfile(reader)
        self.sender = try directory.createProfile(sender)
    }

    /// Makes the groups `chat 0`, `chat 1`, … with so many files each, `file 0.bin`, `file 1.bin`, …, in one
    /// transaction: some 20 s for a million files. To be called once, before the reader is mounted.
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

    /// One more file for one of the groups, told to the process that has the reader. It has been committed when this
    /// returns.
    package func deliver(_ name: String, in chat: ChatReference) throws(ChatError) {
        try deliver([name], in: chat)
    }

    /// The same for several at once.
    package func deliver(_ names: [String], in chat: ChatReference) throws(ChatError) {
        let now = directory.clock.now()
        try directory.changeForOthers { tables in
            let side = ChatSide(profile: reader.id, chat: try tables.chats.id(of: chat, of: reader.id))
            for name in names {
                let item = try insert(name, sentAt: now, to: side, tables)
                try tables.inbox.post(.newItem(item), to: side)
            }
            try tables.chats.noteMessage(in: side.chat, at: now)
        }
    }

    /// Deletes the `count` newest messages of a group, as their sender would for everyone.
    package func withdraw(_ count: Int, in chat: ChatReference) throws(ChatError) {
        try directory.changeForOthers { tables in
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
        // The sender's own side is not there: nothing of it is looked at.
        return try tables.tables(of: sender.id, context).items.insertReceived(
            envelope, by: side, origin: ItemID(0), number: 0, inlineContent: nil)
    }
}
