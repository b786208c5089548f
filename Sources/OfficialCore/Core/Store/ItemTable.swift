import Base
import ChatCore
import Store

/// Items with a file, as rows of the index and back.
enum ItemRows {
    private static let columns = """
        id, chat, direction, sender, time, kind, seconds, text, file, name, size, transport, status, part, \
        total, problem, sentence, described, path, sealed
        """

    static func item(_ id: ItemID, _ connection: Connection) throws -> ChatItem? {
        try connection.first("SELECT \(columns) FROM item WHERE id = ?", id.rawValue, row: chatItem) ?? nil
    }

    static func item(of file: FileID, _ connection: Connection) throws -> ChatItem? {
        try connection.first(
            "SELECT \(columns) FROM item WHERE file = ? ORDER BY id", file.rawValue, row: chatItem) ?? nil
    }

    /// Newest first.
    static func items(
        of chat: ChatReference, before: ItemID?, count: Int, _ connection: Connection
    ) throws -> [ChatItem] {
        try connection.query(
            "SELECT \(columns) FROM item WHERE chat = ? AND id < ? ORDER BY id DESC LIMIT ?",
            chat.description, before?.rawValue ?? .max, max(0, count)
        ) { chatItem($0, of: chat) }
    }

    /// Which part of a group an item is in, as commands name it.
    static func reference(of id: ItemID, _ connection: Connection) throws -> String? {
        try connection.first("SELECT reference FROM item WHERE id = ?", id.rawValue) { $0.text(0) }
    }

    /// Writes an item. Whether its file is described is only known later, so it is never taken back.
    static func put(
        _ item: ChatItem, _ file: ChatFile, reference: String, isRead: Bool = false, _ connection: Connection
    ) throws {
        let (kind, seconds) = fields(of: item.content.kind)
        let status = fields(of: file.status)
        try connection.execute(
            """
            INSERT INTO item (id, chat, reference, seen, direction, sender, time, kind, seconds, text,
                file, name, size, transport, status, part, total, problem, sentence, described, path, sealed,
                read)
            VALUES (?, ?, ?, coalesce((SELECT number FROM walk WHERE reference = ?), 0),
                ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET
                seen = excluded.seen, sender = excluded.sender, time = excluded.time, kind = excluded.kind,
                seconds = excluded.seconds, text = excluded.text, file = excluded.file,
                name = excluded.name, size = excluded.size, transport = excluded.transport,
                status = excluded.status, part = excluded.part, total = excluded.total,
                problem = excluded.problem, sentence = excluded.sentence,
                described = max(described, excluded.described), path = excluded.path,
                sealed = excluded.sealed, read = max(read, excluded.read)
            """,
            item.id.rawValue, item.chat.description, reference, reference,
            item.direction == .sent ? "sent" : "received", item.sender, item.time, kind, seconds,
            item.content.text, file.id.rawValue, file.name, file.size, file.transport.rawValue,
            status.word, status.part, status.total, status.problem?.kind.rawValue, status.problem?.sentence,
            file.status == .rcvInvitation(described: true), file.source?.path,
            file.source?.arguments != nil, isRead)
    }

    /// Part of a group in which an item was received and not read yet, nil for any other.
    static func unreadReference(of id: ItemID, _ connection: Connection) throws -> String? {
        try connection.first(
            "SELECT reference FROM item WHERE id = ? AND direction = 'received' AND read = 0", id.rawValue
        ) { $0.text(0) }
    }

    static func noteRead(_ id: ItemID, _ connection: Connection) throws {
        try connection.execute("UPDATE item SET read = 1 WHERE id = ?", id.rawValue)
    }

    static func noteThatItDisappears(_ id: ItemID, _ connection: Connection) throws {
        try connection.execute("UPDATE item SET disappears = 1 WHERE id = ?", id.rawValue)
    }

    /// Whether its message is one that disappears.
    static func disappears(_ id: ItemID, _ connection: Connection) throws -> Bool {
        try connection.first("SELECT disappears FROM item WHERE id = ?", id.rawValue) { $0.bool(0) } ?? false
    }

    private static func chatItem(_ row: borrowing Row) -> ChatItem? {
        ChatReference(row.text(1)).map { chatItem(row, of: $0) }
    }

    private static func chatItem(_ row: borrowing Row, of chat: ChatReference) -> ChatItem {
        let content = MessageContent(kind: kind(row.text(5), seconds: Int(row.integer(6))), text: row.text(7))
        let problem = FileProblem(
            FileProblem.Kind(rawValue: row.text(15)) ?? .other, row.text(16))
        let isSealed = row.bool(19)
        let file = ChatFile(
            id: FileID(row.integer(8)), name: row.text(9), size: row.unsigned(10),
            status: status(
                row.text(12), part: row.unsigned(13), total: row.unsigned(14), problem,
                isDescribed: row.bool(17)),
            transport: ChatFile.Transport(rawValue: row.text(11)) ?? .xftp,
            // Keys are not in the index: `location(of:)` asks the core for them.
            source: isSealed
                ? nil : row.textOrNil(18).map { FileSourceLocation(path: $0, arguments: nil) })
        return ChatItem(
            id: ItemID(row.integer(0)), chat: chat, direction: row.text(2) == "sent" ? .sent : .received,
            sender: row.text(3), time: row.timestamp(4), content: content, file: file)
    }

    // MARK: - Words

    /// Previews stay in the core: a hundred thousand of them would fill the memory.
    private static func fields(of kind: MessageContent.Kind) -> (String, Int) {
        switch kind {
        case .text: ("text", 0)
        case .file: ("file", 0)
        case .image: ("image", 0)
        case .video(_, let seconds): ("video", seconds)
        case .voice(let seconds): ("voice", seconds)
        }
    }

    private static func kind(_ word: String, seconds: Int) -> MessageContent.Kind {
        switch word {
        case "file": .file
        case "image": .image(preview: "")
        case "video": .video(preview: "", seconds: seconds)
        case "voice": .voice(seconds: seconds)
        default: .text
        }
    }

    private typealias StatusFields = (word: String, part: UInt64, total: UInt64, problem: FileProblem?)

    private static func fields(of status: FileStatus) -> StatusFields {
        switch status {
        case .sndStored: ("sndStored", 0, 0, nil)
        case .sndTransfer(let sent, let total): ("sndTransfer", sent, total, nil)
        case .sndComplete: ("sndComplete", 0, 0, nil)
        case .sndCancelled: ("sndCancelled", 0, 0, nil)
        case .sndError(let problem): ("sndError", 0, 0, problem)
        case .sndWarning(let problem): ("sndWarning", 0, 0, problem)
        case .rcvInvitation: ("rcvInvitation", 0, 0, nil)
        case .rcvAccepted: ("rcvAccepted", 0, 0, nil)
        case .rcvTransfer(let received, let total): ("rcvTransfer", received, total, nil)
        case .rcvAborted(let problem): ("rcvAborted", 0, 0, problem)
        case .rcvComplete: ("rcvComplete", 0, 0, nil)
        case .rcvCancelled: ("rcvCancelled", 0, 0, nil)
        case .rcvError(let problem): ("rcvError", 0, 0, problem)
        case .rcvWarning(let problem): ("rcvWarning", 0, 0, problem)
        }
    }

    private static func status(
        _ word: String, part: UInt64, total: UInt64, _ problem: FileProblem, isDescribed: Bool
    ) -> FileStatus {
        switch word {
        case "sndStored": .sndStored
        case "sndTransfer": .sndTransfer(sent: part, total: total)
        case "sndComplete": .sndComplete
        case "sndCancelled": .sndCancelled
        case "sndError": .sndError(problem)
        case "sndWarning": .sndWarning(problem)
        case "rcvAccepted": .rcvAccepted
        case "rcvTransfer": .rcvTransfer(received: part, total: total)
        case "rcvAborted": .rcvAborted(problem.sentence.isEmpty ? .relaysNotApproved : problem)
        case "rcvComplete": .rcvComplete
        case "rcvCancelled": .rcvCancelled
        case "rcvError": .rcvError(problem)
        case "rcvWarning": .rcvWarning(problem)
        default: .rcvInvitation(described: isDescribed)
        }
    }
}
