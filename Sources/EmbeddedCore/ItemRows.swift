import Base
import ChatCore
import Store

/// Items, files and chats as rows, and back.
enum ItemRows {
    private static let columns = """
        i.id, c.kind, c.id, i.direction, i.sender, i.time, i.kind, i.preview, i.seconds, i.text,
        f.id, f.name, f.size, f.status, f.transport, f.stored_name, f.key, f.nonce, f.expires,
        f.problem, f.problem_sentence, f.description IS NOT NULL OR f.transport = 'inline'
        """
    private static let tables = "FROM item i JOIN chat c ON c.id = i.chat JOIN file f ON f.item = i.id"

    /// One item of a profile, nil when it is not there.
    static func item(_ id: Int64, of profile: Int64, _ context: Context) throws -> ChatItem? {
        try context.connection.first(
            "SELECT \(columns) \(tables) WHERE i.id = ? AND i.profile = ?", id, profile
        ) { chatItem($0, context) }
    }

    /// The item of a file; nil also for a file without one.
    static func item(ofFile file: Int64, of profile: Int64, _ context: Context) throws -> ChatItem? {
        try context.connection.first(
            "SELECT \(columns) \(tables) WHERE f.id = ? AND f.profile = ?", file, profile
        ) { chatItem($0, context) }
    }

    static func items(
        ofChat chat: Int64, before: Int64, count: Int, _ context: Context
    ) throws -> [ChatItem] {
        try context.connection.query(
            "SELECT \(columns) \(tables) WHERE i.chat = ? AND i.id < ? ORDER BY i.id DESC LIMIT ?",
            chat, before, count
        ) { chatItem($0, context) }
    }

    /// What rows need besides themselves: where files lie and how far running transfers are.
    struct Context {
        let connection: Connection
        let filesPath: String
        let progress: [FileID: TransferProgress]
    }

    static func chatReference(kind: String, id: Int64) -> ChatReference {
        switch kind {
        case "direct": .direct(id)
        case "group": .group(id)
        default: .notes(id)
        }
    }

    private static func chatItem(_ row: borrowing Row, _ context: Context) -> ChatItem {
        ChatItem(
            id: ItemID(row.integer(0)), chat: chatReference(kind: row.text(1), id: row.integer(2)),
            direction: row.text(3) == "sent" ? .sent : .received, sender: row.text(4),
            time: row.timestamp(5),
            content: MessageContent(
                kind: contentKind(row.text(6), preview: row.text(7), seconds: Int(row.integer(8))),
                text: row.text(9)),
            file: chatFile(row, context))
    }

    private static func chatFile(_ row: borrowing Row, _ context: Context) -> ChatFile {
        let id = FileID(row.integer(10))
        let problem = FileProblem(
            FileProblem.Kind(rawValue: row.text(19)) ?? .other, row.text(20))
        let progress = context.progress[id] ?? TransferProgress(done: 0, total: 0)
        let source = row.textOrNil(15).map { name in
            FileSourceLocation(
                path: context.filesPath + "/" + name,
                arguments: FileArguments(key: row.bytes(16), nonce: row.bytes(17)))
        }
        return ChatFile(
            id: id, name: row.text(11), size: row.unsigned(12),
            status: status(row.text(13), progress, problem, described: row.bool(21)),
            transport: ChatFile.Transport(rawValue: row.text(14)) ?? .xftp,
            source: source, expires: row.timestampOrNil(18))
    }

    private static func status(
        _ word: String, _ progress: TransferProgress, _ problem: FileProblem, described: Bool
    ) -> FileStatus {
        switch word {
        case "snd_stored": .sndStored
        case "snd_transfer": .sndTransfer(sent: progress.done, total: progress.total)
        case "snd_complete": .sndComplete
        case "snd_cancelled": .sndCancelled
        case "snd_error": .sndError(problem)
        case "snd_warning": .sndWarning(problem)
        case "rcv_accepted": .rcvAccepted
        case "rcv_transfer": .rcvTransfer(received: progress.done, total: progress.total)
        case "rcv_aborted": .rcvAborted(problem.sentence.isEmpty ? .relaysNotApproved : problem)
        case "rcv_complete": .rcvComplete
        case "rcv_cancelled": .rcvCancelled
        case "rcv_error": .rcvError(problem)
        case "rcv_warning": .rcvWarning(problem)
        default: .rcvInvitation(described: described)
        }
    }

    private static func contentKind(
        _ word: String, preview: String, seconds: Int
    ) -> MessageContent.Kind {
        switch word {
        case "text": .text
        case "image": .image(preview: preview)
        case "video": .video(preview: preview, seconds: seconds)
        case "voice": .voice(seconds: seconds)
        default: .file
        }
    }

    /// The columns of a content: word, preview, seconds.
    static func fields(of kind: MessageContent.Kind) -> (word: String, preview: String, seconds: Int) {
        switch kind {
        case .text: ("text", "", 0)
        case .file: ("file", "", 0)
        case .image(let preview): ("image", preview, 0)
        case .video(let preview, let seconds): ("video", preview, seconds)
        case .voice(let seconds): ("voice", "", seconds)
        }
    }

    // MARK: - Chats

    static func chats(of profile: Int64, only chat: Int64? = nil, _ connection: Connection) throws -> [Chat] {
        try connection.query(
            """
            SELECT c.id, c.kind, c.updated, coalesce(c.alias, p.name, g.name, ''), c.alias IS NOT NULL, c.ended
            FROM chat c
            LEFT JOIN profile p ON p.id = c.contact LEFT JOIN chat_group g ON g.id = c.chat_group
            WHERE c.profile = ? AND c.id = coalesce(?, c.id) ORDER BY c.id
            """, profile, chat
        ) { row in
            let reference = chatReference(kind: row.text(1), id: row.integer(0))
            let name = if case .notes = reference { notesName } else { row.text(3) }
            return Chat(
                reference: reference, displayName: name, updatedAt: row.timestamp(2),
                sendingRefused: row.textOrNil(5).map {
                    ChatEnding(rawValue: $0)?.sentence ?? "The chat has ended."
                },
                isNamedByUser: row.bool(4))
        }
    }

    static let notesName = "Saved notes"
}

/// Bytes as they travel, encrypted and padded.
struct TransferProgress: Hashable, Sendable {
    var done: UInt64
    var total: UInt64
}
