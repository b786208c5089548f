import Base
import ChatCore
import Store

/// A change of the index under way, and what follows from it for the listeners when it is committed.
final class Change {
    let connection: Connection
    /// Name of the user's own profile, the sender of sent items.
    private let own: String
    private let filesFolder: String
    private(set) var events: [ChatEvent] = []
    /// Folders of sent files whose items are gone.
    private(set) var abandonedFolders: [String] = []
    /// Copies of our own whose items are gone.
    private(set) var abandonedCopies: [String] = []
    /// A walk through a history was begun.
    private(set) var beginsWalk = false
    /// Items whose status was told without the item.
    private(set) var touched: [ItemID] = []

    init(connection: Connection, own: String, filesFolder: String) {
        self.connection = connection
        self.own = own
        self.filesFolder = filesFolder
    }

    func tell(_ event: ChatEvent) { events.append(event) }

    /// How the core came to speak of an item.
    enum Occasion {
        /// A new message, just now: its description is still on its way.
        case arrival
        /// A page of the history, an answer, an event about an item that is there already.
        case look
        /// The complete description of its file has arrived.
        case described
        /// The answer to a command to send, which tells its caller itself.
        case sending
    }

    /// Writes what the core said about an item and tells it. Items without a file, stubs of deleted ones
    /// and chats that are gone are not shown; one that became such is removed. The item as it is now, nil
    /// when it is not shown.
    @discardableResult
    func take(_ item: APIItem, _ occasion: Occasion, _ event: ((ChatItem) -> ChatEvent)? = nil) throws
        -> ChatItem?
    {
        let before = try ItemRows.item(item.id, connection)
        guard var shown = item.chatItem(own: own, filesFolder: filesFolder), var file = shown.file else {
            if before != nil { try remove([item.id], item.deletion?.reason ?? .deleted) }
            return nil
        }
        if case .rcvInvitation = file.status {
            // An item that is met later is taken to be described: a claim finds out.
            let isDescribed = occasion == .described || (occasion == .look && before == nil)
            file.status = .rcvInvitation(described: isDescribed)
            shown.file = file
        }
        if case .rcvInvitation = file.status, let known = before?.file?.status, case .rcvAborted = known {
            // To the core it is an offer as any other; why it was not received at arrival stays.
            file.status = known
            shown.file = file
        }
        if event == nil, file.status == .rcvComplete, before?.file?.status == OfficialCore.damagedCopy {
            // The core knows nothing of what happened to its file.
            file.status = OfficialCore.damagedCopy
            shown.file = file
        }
        if file.status.isGivenUp || file.status == .rcvComplete,
            let kept = try KeptCopies.source(of: file.id, connection)
        {
            (file.status, file.source) = (.rcvComplete, kept)
            shown.file = file
        }
        if let known = before?.file?.status, case .sndError = known, file.status.isUpload {
            // The core forgot the end of this upload (`lookForLostUploads`); what was found out stays.
            file.status = known
            shown.file = file
        }
        try ItemRows.put(
            shown, file, reference: item.chat.reference.description, isRead: item.isRead, connection)
        if item.disappears { try ItemRows.noteThatItDisappears(item.id, connection) }
        guard let after = try ItemRows.item(item.id, connection) else { return nil }
        if before == nil {
            if occasion != .sending { tell(.newChatItems([after])) }
        } else if let event {
            tell(event(after))
        } else if before != after {
            tell(.chatItemUpdated(after))
        }
        return after
    }

    /// Changes the status of a file that is known, and where it lies. Nothing when it is not.
    func setStatus(
        _ status: FileStatus, of file: FileID, source: FileSourceLocation? = nil,
        _ event: (ChatItem) -> ChatEvent
    ) throws {
        guard var item = try ItemRows.item(of: file, connection), var changed = item.file,
            let reference = try ItemRows.reference(of: item.id, connection)
        else { return }
        // The path of a key that is not here must not be lost.
        let place =
            if let source {
                (String?.some(source.path), source.arguments != nil)
            } else {
                try connection.first("SELECT path, sealed FROM item WHERE id = ?", item.id.rawValue) {
                    ($0.textOrNil(0), $0.bool(1))
                } ?? (nil, false)
            }
        changed.status = status
        item.file = changed
        try ItemRows.put(item, changed, reference: reference, connection)
        try connection.execute(
            "UPDATE item SET path = ?, sealed = ? WHERE id = ?", place.0, place.1, item.id.rawValue)
        if let after = try ItemRows.item(item.id, connection) { tell(event(after)) }
        touched.append(item.id)
    }

    /// Items that the core no longer has and said nothing about: the time of disappearing ones is over.
    func removeUntold(_ items: [ItemID]) throws {
        let disappearing = Set(try items.filter { try ItemRows.disappears($0, connection) })
        try remove(items.filter(disappearing.contains), .disappeared)
        try remove(items.filter { !disappearing.contains($0) }, .deleted)
    }

    /// Items that are gone.
    func remove(_ items: [ItemID], _ reason: DeletionReason) throws {
        var removed: [(chat: ChatReference, item: ItemID)] = []
        for id in items {
            guard let item = try ItemRows.item(id, connection) else { continue }
            try connection.execute("DELETE FROM item WHERE id = ?", id.rawValue)
            removed.append((item.chat, id))
            abandonedFolders += try connection.query(
                "SELECT folder FROM send WHERE item = ?", id.rawValue
            ) { $0.text(0) }
            try connection.execute("DELETE FROM send WHERE item = ?", id.rawValue)
            if let file = item.file, let copy = try KeptCopies.forget(file.id, connection) {
                abandonedCopies.append(copy)
            }
        }
        if !removed.isEmpty { tell(.chatItemsDeleted(removed, reason)) }
    }

    /// Writes a chat and tells it when something about it is new.
    func take(_ info: APIChatInfo) throws {
        let chat = info.chat
        let reference = chat.reference.description
        let before = try ChatRows.chat(chat.reference, connection)
        try connection.execute(
            """
            INSERT INTO chat (chat, name, updated, refused, gone) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (chat) DO UPDATE SET name = excluded.name,
                updated = max(updated, excluded.updated), refused = excluded.refused, gone = excluded.gone
            """, reference, chat.displayName, chat.updatedAt, chat.sendingRefused, info.isGone)
        try beginWalk(reference, chat: reference)
        // A conversation that no list of chats names, met by a message in it.
        if info.reference.scope != nil { try beginWalk(info.reference.description, chat: reference) }
        guard let after = try ChatRows.chat(chat.reference, connection) else { return }
        let isNews =
            before?.displayName != after.displayName || before?.sendingRefused != after.sendingRefused
        if isNews && !info.isGone { tell(.chatUpdated(after)) }
    }

    private func beginWalk(_ reference: String, chat: String) throws {
        let added = try connection.execute(
            "INSERT OR IGNORE INTO walk (reference, chat, number, done) VALUES (?, ?, 1, 0)", reference, chat)
        beginsWalk = beginsWalk || added > 0
    }

    /// A chat that the core no longer has: its items go; its folder goes with the next mount.
    func removeChat(_ reference: ChatReference) throws {
        let text = reference.description
        let items = try connection.query("SELECT id FROM item WHERE chat = ?", text) { ItemID($0.integer(0)) }
        try remove(items, .deleted)
        try connection.execute("DELETE FROM walk WHERE chat = ?", text)
        guard var chat = try ChatRows.chat(reference, connection) else { return }
        try connection.execute("DELETE FROM chat WHERE chat = ?", text)
        chat.sendingRefused = "This chat was deleted in SimpleX."
        tell(.chatUpdated(chat))
    }
}

/// Chats as rows.
enum ChatRows {
    static func chat(_ reference: ChatReference, _ connection: Connection) throws -> Chat? {
        try connection.first(
            "SELECT chat, name, updated, refused FROM chat WHERE chat = ?", reference.description, row: chat)
            ?? nil
    }

    /// Those that are shown: the ones that the user has, and of those deleted the ones with files.
    static func chats(_ connection: Connection) throws -> [Chat] {
        try connection.query(
            """
            SELECT chat, name, updated, refused FROM chat
            WHERE gone = 0 OR EXISTS (SELECT 1 FROM item WHERE item.chat = chat.chat)
            ORDER BY updated DESC, chat
            """, row: chat
        ).compactMap { $0 }
    }

    private static func chat(_ row: borrowing Row) -> Chat? {
        guard let reference = ChatReference(row.text(0)) else { return nil }
        return Chat(
            reference: reference, displayName: row.text(1), updatedAt: row.timestamp(2),
            sendingRefused: row.textOrNil(3))
    }
}

extension FileStatus {
    /// On its way to the relay, as far as the core knows.
    fileprivate var isUpload: Bool {
        switch self {
        case .sndStored, .sndTransfer, .sndWarning: true
        default: false
        }
    }
}
