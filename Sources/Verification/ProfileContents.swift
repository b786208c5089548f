import Base
import ChatCore
import Cryptography
import EmbeddedCore
import Glibc
import Links
import Namespace
import OfficialCore
import Outbox
import Posix

/// The files that a profile's rows refer to, and files without a row. Other processes may change the profile meanwhile.
struct ProfileContents {
    let copies: [StoredCopy]
    /// Drafts whose bytes are not in the spool, by folder and name in the mount.
    let emptyDrafts: [(path: String, size: UInt64)]
    /// Drafts whose bytes are in the spool, by folder and name in the mount, and the spool's directory.
    let spooledDrafts: [(path: String, file: SpooledFile)]
    let spoolFolder: String
    /// Absolute paths of files without a row.
    let strays: [String]

    private static let page = 1000

    /// Reads the rows. Blocks.
    /// - Throws: The error of a database that cannot be read.
    init(of profile: Profile, in directory: DataDirectory) throws {
        let (own, staging) = try directory.folders(of: profile)
        let names = try RecordedNames(path: own + "/names.sqlite", key: directory.key)
        let chats = try directory.chats(of: profile)
        var copies: [StoredCopy] = []
        for chat in chats {
            let folder = try names.folder(of: chat.reference) ?? chat.ownName
            try Self.eachItem(of: chat.reference, of: profile, in: directory) { item in
                guard var copy = try Self.copy(item, folder, names) else { return }
                if let file = copy.file, copy.source.arguments?.content != nil {
                    copy.describedDigest = try directory.describedDigest(of: file, of: profile)
                }
                copies.append(copy)
            }
        }
        let beside = try Beside(
            own: own, staging: staging, profile: profile, key: directory.key, names: names, chats: chats)
        self.init(
            copies, strays: try directory.strayFiles(of: profile).map { "\(own)/files/\($0)" }, beside)
    }

    /// Reads the data that ChatFS keeps for an official core.
    /// - Parameter folder: Absolute path of its profile's directory.
    init(ofOfficial folder: String, profile: Int64, key: SecretBytes?) throws {
        let names = try RecordedNames(path: folder + "/names.sqlite", key: key)
        let inventory = try OfficialInventory(folder: folder, key: key)
        let copies = try inventory.copies.map { copy in
            let shown = try copy.item.flatMap { try names.path(of: $0) }
            let own = try copy.chat.flatMap { try names.folder(of: $0) } ?? copy.chat.map { "\($0)" }
            return StoredCopy(
                file: nil, path: shown ?? own.map { "\($0)/\(copy.name)" } ?? copy.name, size: copy.size,
                source: copy.source, isReceivable: false, isRefetchable: true)
        }
        let beside = try Beside(
            own: folder, staging: inventory.stagingFolder, profile: Profile(id: profile, displayName: ""),
            key: key, names: names, chats: [])
        self.init(copies, strays: inventory.strays, beside)
    }

    private init(_ copies: [StoredCopy], strays: [String], _ beside: Beside) {
        self.copies = copies + beside.copies
        self.strays = strays + beside.strays
        (emptyDrafts, spooledDrafts, spoolFolder) =
            (beside.emptyDrafts, beside.spooledDrafts, beside.spoolFolder)
    }

    /// Links and drafts, which are stored the same way for every core.
    private struct Beside {
        var copies: [StoredCopy] = []
        var emptyDrafts: [(path: String, size: UInt64)] = []
        var spooledDrafts: [(path: String, file: SpooledFile)] = []
        let strays: [String]
        let spoolFolder: String

        init(
            own: String, staging: String, profile: Profile, key: SecretBytes?, names: RecordedNames,
            chats: [Chat]
        ) throws {
            let links = try LinkInventory(
                path: own + "/links.sqlite", key: key, stagingFolder: staging, profile: profile)
            copies += try links.items.compactMap {
                try ProfileContents.copy($0, ProfileContents.linksFolder, names)
            }
            let outbox = try OutboxInventory(folder: own + "/outbox", key: key, stagingFolder: staging)
            for draft in outbox.drafts {
                let folder =
                    try names.folder(of: draft.chat) ?? chats.first { $0.reference == draft.chat }?.ownName
                    ?? "\(draft.chat)"
                let path = "\(folder)/\(String(decoding: draft.name, as: UTF8.self))"
                if draft.lacksBytes { emptyDrafts.append((path, draft.size)) }
                if let spooled = draft.spooled { spooledDrafts.append((path, spooled)) }
                guard let staged = draft.staged else { continue }
                copies.append(
                    StoredCopy(
                        file: nil, path: path, size: draft.size, source: staged, isReceivable: false))
            }
            strays =
                links.strays.map { "\(links.folder)/\($0)" }
                + outbox.strays.map { "\(outbox.spoolFolder)/\($0)" }
            spoolFolder = outbox.spoolFolder
        }
    }

    fileprivate static let linksFolder = "Links"

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

    fileprivate static func copy(
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

extension Chat {
    /// The name of a chat without a folder, never chosen by a peer.
    fileprivate var ownName: String {
        if case .notes = reference { return displayName }
        return isNamedByUser ? displayName : "\(reference)"
    }
}
