import Base
import ChatCore
import Store

/// The kind of an entry in the folder of links.
enum LinkKind: String, SQLBindable, CaseIterable {
    /// A file of the user, uploaded for a link.
    case upload
    /// An added link of another person.
    case added
    /// The small file next to an upload that holds its link.
    case shortcut
}

enum LinkStatus: String, SQLBindable, CaseIterable {
    /// Being uploaded, or waiting for a retry.
    case uploading
    case uploaded
    /// Revoked; the file stays here.
    case cancelled
    case failed
    /// Removed by the user; the row stays until the relays deleted the upload.
    case removed
    /// An added link without a local file.
    case offered
    /// The file is local.
    case stored
    /// An added link whose file is unavailable.
    case lost
}

/// The row of an entry. `link` and `description` are secrets.
struct LinkRow: Sendable {
    var id: Int64
    var kind: LinkKind
    /// For a shortcut: the row of its upload.
    var main: Int64?
    var name: String
    var size: UInt64
    var status: LinkStatus
    var problem: FileProblem?
    /// The name of its CryptoFile in the folder.
    var storedName: String?
    var arguments: FileArguments?
    /// The number of its transfer in the core.
    var upload: FileID?
    /// Whether the core was asked to upload it.
    var hasBegun: Bool
    var link: String?
    /// For an added link: the description of the file itself.
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

    /// Returns the entry as a mount shows it.
    /// - Parameters:
    ///   - owner: The name of the profile.
    ///   - folder: The folder of the CryptoFiles.
    ///   - progress: The uploaded bytes of a running upload.
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

    /// The limit of an extended attribute. Each value is in memory as long as its folder is.
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
        case .lost: return .rcvError(problem ?? FileProblem(.expired, "The file is no longer available."))
        }
    }
}
