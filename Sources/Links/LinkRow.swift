import Base
import ChatCore
import Store

/// What an entry in the folder of links is.
enum LinkKind: String, SQLBindable, CaseIterable {
    /// Copied in, and uploaded for a link.
    case upload
    /// A link of somebody else was added.
    case added
    /// The small file beside an upload that holds its link.
    case shortcut
}

enum LinkStatus: String, SQLBindable, CaseIterable {
    /// An upload that is on its way, or waits for its next try.
    case uploading
    case uploaded
    /// Taken back; the file stays here.
    case cancelled
    case failed
    /// Taken back and gone for the user; the row stays until the relays were told.
    case removed
    /// An added link whose file is not here.
    case offered
    /// The file is here.
    case stored
    /// An added link whose file cannot be had any more.
    case lost
}

/// One entry as its row has it. `link` and `description` are secrets.
struct LinkRow: Sendable {
    var id: Int64
    var kind: LinkKind
    /// Of a shortcut: whose link it holds.
    var main: Int64?
    var name: String
    var size: UInt64
    var status: LinkStatus
    var problem: FileProblem?
    /// Its CryptoFile, by its name in the folder.
    var storedName: String?
    var arguments: FileArguments?
    /// The number of its transfer at the core.
    var upload: FileID?
    /// Whether the core was asked to upload it.
    var hasBegun: Bool
    var link: String?
    /// Of an added link: the description of the file itself.
    var description: String?
    var caption: String
    var created: Timestamp
    var expires: Timestamp?

    var item: ItemID { ItemID(ItemID.firstOfLinks.rawValue + id) }
    var file: FileID { FileID(FileID.firstOfLinks.rawValue + id) }

    static let columns = """
        id, kind, main, name, size, status, problem, problem_sentence, stored_name, key, nonce, upload, has_begun, \
        link, description, caption, created, expires
        """

    /// - Throws: `.damaged`.
    init(_ row: borrowing Row) throws(StoreError) {
        id = row.integer("id")
        kind = try row.value("kind")
        main = row.integerOrNil("main")
        name = row.text("name")
        size = row.unsigned("size")
        status = try row.value("status")
        if let kind = row.textOrNil("problem") {
            problem = FileProblem(FileProblem.Kind(rawValue: kind) ?? .other, row.text("problem_sentence"))
        }
        storedName = row.textOrNil("stored_name")
        if !row.isNull("key") {
            arguments = FileArguments(key: row.bytes("key"), nonce: row.bytes("nonce"))
        }
        upload = row.integerOrNil("upload").map { FileID($0) }
        hasBegun = row.bool("has_begun")
        link = row.textOrNil("link")
        description = row.textOrNil("description")
        caption = row.text("caption")
        created = row.timestamp("created")
        expires = row.timestampOrNil("expires")
    }

    /// The entry as a mount shows it.
    /// - Parameters:
    ///   - owner: who has the profile.
    ///   - folder: where the CryptoFiles lie.
    ///   - progress: of a running upload, in bytes.
    func item(of owner: String, folder: String, progress: (done: UInt64, total: UInt64)?) -> ChatItem {
        let source =
            status == .offered || status == .lost
            ? nil : storedName.map { FileSourceLocation(path: folder + "/" + $0, arguments: arguments) }
        return ChatItem(
            id: item, chat: .links, direction: kind == .added ? .received : .sent,
            sender: kind == .added ? "" : owner, time: created,
            content: MessageContent(kind: .file, text: caption),
            file: ChatFile(
                id: file, name: name, size: size, status: fileStatus(progress),
                transport: kind == .shortcut ? .local : .xftp, source: source,
                expires: status == .uploading ? nil : expires, link: status == .cancelled ? nil : shownLink))
    }

    /// Nothing longer fits into an extended attribute, and each is in memory for as long as its folder is.
    private var shownLink: String? { link.flatMap { $0.utf8.count <= 65_536 ? $0 : nil } }

    private func fileStatus(_ progress: (done: UInt64, total: UInt64)?) -> FileStatus {
        if kind == .shortcut { return .sndStored }
        switch status {
        case .uploading:
            if let problem { return .sndWarning(problem) }
            return progress.map { .sndTransfer(sent: $0.done, total: $0.total) } ?? .sndStored
        case .uploaded: return .sndComplete
        case .cancelled, .removed: return .sndCancelled
        case .failed: return .sndError(problem ?? FileProblem(.other, "The upload failed."))
        case .offered: return .rcvInvitation(described: true)
        case .stored: return .rcvComplete
        case .lost: return .rcvError(problem ?? FileProblem(.expired, "The file cannot be had any more."))
        }
    }
}
