import Base
import ChatCore
import Cryptography
import EmbeddedCore
import Glibc
import Links
import Namespace
import Outbox
import Posix

/// What the rows of a profile say should be on the disk, and what is there without a row. Whoever has the profile may
/// go on meanwhile.
struct ProfileContents {
    let copies: [StoredCopy]
    /// Drafts whose bytes are not in the spool, by folder and name in the mount.
    let emptyDrafts: [(path: String, size: UInt64)]
    /// Absolute paths of files that no row names.
    let strays: [String]

    private static let page = 1000

    /// Blocks.
    /// - Throws: what a database of the profile says that cannot be read.
    init(of profile: Profile, in directory: DataDirectory) throws {
        let (own, staging) = try directory.folders(of: profile)
        let names = try RecordedNames(path: own + "/names.sqlite", key: directory.key)
        let chats = try directory.chats(of: profile)
        var copies: [StoredCopy] = []
        for chat in chats {
            try Self.eachItem(of: chat.reference, of: profile, in: directory) { item in
                if let copy = try Self.copy(item, chat.displayName, names) { copies.append(copy) }
            }
        }
        let links = try LinkInventory(
            path: own + "/links.sqlite", key: directory.key, stagingFolder: staging, profile: profile)
        copies += try links.items.compactMap { try Self.copy($0, Self.linksFolder, names) }
        let outbox = try OutboxInventory(folder: own + "/outbox", key: directory.key, stagingFolder: staging)
        func path(_ draft: OutboxInventory.Entry) throws -> String {
            let folder = try names.folder(of: draft.chat) ?? chats.name(of: draft.chat)
            return "\(folder)/\(String(decoding: draft.name, as: UTF8.self))"
        }
        copies += try outbox.drafts.compactMap { draft in
            guard let staged = draft.staged else { return nil }
            return StoredCopy(
                file: nil, path: try path(draft), size: draft.size, source: staged, isReceivable: false)
        }
        emptyDrafts = try outbox.drafts.filter(\.lacksBytes).map { (try path($0), $0.size) }
        strays =
            try directory.strayFiles(of: profile).map { "\(own)/files/\($0)" }
            + links.strays.map { "\(links.folder)/\($0)" }
            + outbox.strays.map { "\(outbox.spoolFolder)/\($0)" }
        self.copies = copies
    }

    private static let linksFolder = "Links"

    private static func eachItem(
        of chat: ChatReference, of profile: Profile, in directory: DataDirectory,
        _ body: (ChatItem) throws -> Void
    ) throws {
        var last: ItemID?
        while true {
            let items = try directory.items(of: chat, of: profile, before: last, count: page)
            try items.forEach(body)
            guard let oldest = items.last, items.count == page else { return }
            last = oldest.id
        }
    }

    private static func copy(
        _ item: ChatItem, _ folder: String, _ names: RecordedNames
    ) throws -> StoredCopy? {
        guard let file = item.file, let source = file.source else { return nil }
        let isReceivable =
            file.status == .rcvComplete && file.transport == .xftp
            && file.expires.map { $0 > SystemWallClock().now() } ?? true
        return StoredCopy(
            file: file.id, path: try names.path(of: item.id) ?? "\(folder)/\(file.name)", size: file.size,
            source: source, isReceivable: isReceivable)
    }
}

extension [Chat] {
    fileprivate func name(of chat: ChatReference) -> String {
        first { $0.reference == chat }?.displayName ?? "\(chat)"
    }
}
