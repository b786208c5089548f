import Archive
import Base
import ChatCore
import EmbeddedCore
import Glibc
import Outbox
import Posix

/// The disk use of a profile, from its rows and folders, also while it is mounted.
struct StorageUse: Encodable, Sendable {
    struct Amount: Encodable, Sendable {
        var files = 0
        /// Plaintext bytes for files of chats, bytes on disk otherwise.
        var bytes: UInt64 = 0

        /// Adds one file. Its size may come from a sender and overflow.
        mutating func add(_ count: UInt64) {
            files += 1
            bytes.addSaturating(count)
        }

        mutating func add(_ other: Amount) {
            files += other.files
            bytes.addSaturating(other.bytes)
        }
    }

    struct Chat: Encodable, Sendable {
        var name: String
        /// Reference such as `@5` or `#3`.
        var chat: String
        var here = Amount()
        /// The part of `here` that relays still have.
        var freeable = Amount()
        /// Remote files.
        var remote = Amount()
    }

    var profile: String
    var chats: [Chat]
    /// Unsent drafts in the spool.
    var drafts: Amount
    var databases: Amount
    /// Files in `damaged` and `set-aside`.
    var setAside: Amount
    /// Bytes in the cache while mounted.
    var cached: UInt64?

    /// Computes the disk use. Blocks.
    init(of profile: Profile, in directory: DataDirectory, now: Timestamp) throws {
        self.profile = profile.displayName
        let own = try directory.folders(of: profile).own
        let all = try directory.namedChats(of: profile).all
        let export = try PlainExport(of: profile, in: directory, chats: all)
        var byReference = Dictionary(
            uniqueKeysWithValues: all.map { chat in
                (chat.reference, Chat(name: chat.name, chat: "\(chat.reference)"))
            })
        for candidate in export.candidates {
            guard let file = candidate.item.file else { continue }
            let chat = candidate.chat.reference
            if file.source == nil {
                byReference[chat]?.remote.add(file.size)
            } else {
                byReference[chat]?.here.add(file.size)
                if candidate.isOnRelay(at: now) { byReference[chat]?.freeable.add(file.size) }
            }
        }
        chats = all.compactMap { byReference[$0.reference] }
        drafts = Self.amount(in: own + "/outbox/spool")
        setAside = Self.amount(in: own + "/damaged")
        setAside.add(Self.amount(in: own + "/set-aside"))
        databases = Amount()
        for name in ProfileFolders.databases {
            for suffix in ["", "-wal"] { Self.add("\(own)/\(name)\(suffix)", to: &databases) }
        }
        for suffix in ["", "-wal"] { Self.add("\(directory.path)/chatfs.db\(suffix)", to: &databases) }
    }

    /// Counts a missing or unreadable folder as empty; `chatfs verify` reports it.
    private static func amount(in folder: String) -> Amount {
        var amount = Amount()
        guard let opened = try? OpenFile(folder, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW) else {
            return amount
        }
        for name in (try? PrivateFolder.names(in: opened)) ?? [] { add("\(folder)/\(name)", to: &amount) }
        return amount
    }

    private static func add(_ path: String, to amount: inout Amount) {
        var status = stat()
        if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
            amount.add(UInt64(status.st_size))
        }
    }

    var here: Amount { sum(\.here) }
    var freeable: Amount { sum(\.freeable) }
    var remote: Amount { sum(\.remote) }

    private func sum(_ part: KeyPath<Chat, Amount>) -> Amount {
        chats.reduce(into: Amount()) { sum, chat in sum.add(chat[keyPath: part]) }
    }
}

extension PlainExport.Candidate {
    /// True if the file is local and can be received again.
    func isOnRelay(at now: Timestamp) -> Bool {
        guard let file = item.file, file.source != nil, file.status == .rcvComplete, file.transport == .xftp
        else { return false }
        return file.expires.map { $0 > now } ?? false
    }

    /// True if the file is local and was received.
    var isReceived: Bool { item.file?.source != nil && item.file?.status == .rcvComplete }
}
