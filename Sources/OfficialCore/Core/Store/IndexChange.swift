import Base
import ChatCore

/// A transaction on the index, with the events to publish after its commit.
final class IndexChange {
    let tables: IndexTables
    private let recent: RecentEvents
    private let owner: String
    private let filesFolder: String
    private let isRemote: Bool
    private(set) var events: [ChatEvent] = []
    /// Folders of sent files whose items were deleted.
    private(set) var abandonedFolders: [String] = []
    /// Copies of this process whose items were deleted.
    private(set) var abandonedCopies: [String] = []
    /// True if a walk through a history was added.
    private(set) var beginsWalk = false
    /// Items whose status changed by an event without the item.
    private(set) var touched: [ItemID] = []
    /// True for pages that are read from the newest to older ones: new lines of a log wait for `placeTexts`.
    var holdsTexts = false

    /// - Parameter isRemote: See `IndexStore`.
    init(
        _ tables: IndexTables, _ recent: RecentEvents, owner: String, filesFolder: String,
        isRemote: Bool = false
    ) {
        self.isRemote = isRemote
        self.tables = tables
        self.recent = recent
        self.owner = owner
        self.filesFolder = filesFolder
    }

    func tell(_ event: ChatEvent) { events.append(event) }

    /// Publishes a received message without a file, which is not stored.
    func tellText(_ item: APIItem) {
        guard item.direction == .received, item.file == nil,
            let text = item.chatItem(own: owner, filesFolder: filesFolder), !text.content.text.isEmpty
        else { return }
        tell(.textArrived(text))
    }

    /// Publishes the deletion of messages without a file, which need not be known.
    func tellTextsGone(_ texts: [TextReference]) {
        if !texts.isEmpty { tell(.textsGone(texts)) }
    }

    // MARK: - Items

    /// The source of an item.
    enum Occasion {
        /// A new message, whose description has not arrived yet.
        case arrival
        /// A page of the history, an answer, or an event about an existing item.
        case look
        /// The file's complete description has arrived.
        case described
        /// The answer to a send command, which reports it itself.
        case sending
    }

    /// Status of a received file with a damaged copy until there is a good one, like a file that the core
    /// gave up.
    static let damagedCopy = FileStatus.rcvError(
        FileProblem(.other, "The stored copy of this file is damaged: reading it fetches it once more."))

    /// Writes the core's state of an item and publishes the change. Items without a file, stubs of deleted
    /// items and items of deleted chats are hidden or removed. Returns the item, or nil if it is hidden.
    @discardableResult
    func take(
        _ item: APIItem, _ occasion: Occasion, _ cause: ItemChange? = nil
    ) throws -> ChatItem? {
        try takeText(item, isArrival: occasion == .arrival || occasion == .sending)
        let before = try tables.items.item(item.id)
        guard let shown = item.chatItem(own: owner, filesFolder: filesFolder), let told = shown.file else {
            // Its text may stay.
            if before != nil { try removeFiles(of: [item.id], item.deletion?.reason ?? .deleted) }
            return nil
        }
        if let former = before?.file?.id, former != told.id, let copy = try tables.keptCopies.forget(former) {
            abandonedCopies.append(copy)
        }
        // The core gives the number of a deleted file to a later one, but never that of a message.
        if let other = try tables.items.item(of: told.id), other.id != item.id {
            guard other.id < item.id else { return nil }
            try remove([other.id], .deleted)
        }
        var file = told
        // The path is valid on the other machine only.
        if isRemote { file.source = try tables.keptCopies.source(of: file.id) ?? ItemTable.Place.elsewhere }
        try correct(
            &file, before: before?.file?.status, isFirst: before == nil, occasion, isTold: cause != nil)
        if shown.isDeletedBySender, file.status != .rcvComplete {
            if before != nil { try remove([item.id], .deleted) }
            return nil
        }
        try tables.items.put(
            shown, file, reference: item.chat.reference.description, isRead: item.isRead)
        if item.disappears { try tables.items.noteThatItDisappears(item.id) }
        if isRemote { try tables.previews.follow(shown.content.preview, of: item.id) }
        guard let after = try tables.items.item(item.id) else { return nil }
        if before == nil {
            if occasion != .sending { tell(.newChatItems([after])) }
        } else if let cause {
            tell(.itemChanged(after, cause))
        } else if before != after {
            tell(.itemChanged(after, .updated))
        }
        return after
    }

    /// Adds facts that the core does not report.
    /// - Parameters:
    ///   - before: The file's status in the index.
    ///   - isTold: True if the core sent an event about it.
    private func correct(
        _ file: inout ChatFile, before: FileStatus?, isFirst: Bool, _ occasion: Occasion, isTold: Bool
    ) throws {
        if case .rcvInvitation = file.status {
            // An item found later is assumed to be described; a claim tells.
            let isDescribed = occasion == .described || (occasion == .look && isFirst)
            file.status = .rcvInvitation(described: isDescribed)
            // The core reports an ordinary offer; the reason why it was not received at arrival stays.
            if case .rcvAborted? = before, let before { file.status = before }
        }
        if !isTold, file.status == .rcvComplete, before == Self.damagedCopy {
            // The core does not know that its file is damaged.
            file.status = Self.damagedCopy
        }
        if file.status.isGivenUp || file.status == .rcvComplete || (isRemote && file.status.isComing),
            let kept = try tables.keptCopies.source(of: file.id)
        {
            (file.status, file.source) = (.rcvComplete, kept)
        }
        if let before, file.status.isUpload {
            // The core lost the end of this upload (`LostUploads`); the known result stays.
            switch before {
            case .sndError, .sndComplete: file.status = before
            default: break
            }
        }
    }

    /// Records the local copy of a remote file, or its removal (nil).
    func setCopy(_ source: FileSourceLocation?, of file: FileID) throws {
        guard let item = try tables.items.item(of: file) else { return }
        let place = source ?? ItemTable.Place.elsewhere
        try tables.items.setPlace(ItemTable.Place(path: place.path, isSealed: true), of: item.id)
        if let after = try tables.items.item(item.id), after != item { tell(.itemChanged(after, .updated)) }
    }

    /// Sets status and location of a known file. Does nothing for unknown ones.
    func setStatus(
        _ status: FileStatus, of file: FileID, source: FileSourceLocation? = nil, _ cause: ItemChange
    ) throws {
        if let after = try put(status, source, of: file) { tell(.itemChanged(after, cause)) }
    }

    /// The item as it is now; nil where there is none.
    private func put(
        _ status: FileStatus, _ source: FileSourceLocation?, of file: FileID
    ) throws -> ChatItem? {
        guard let item = try tables.items.item(of: file), var changed = item.file,
            let reference = try tables.items.reference(of: item.id)
        else { return nil }
        // The path must stay, although its key is only in the core.
        let place =
            try source.map { ItemTable.Place(path: $0.path, isSealed: $0.arguments != nil) }
            ?? tables.items.place(of: item.id)
        changed.status = status
        try tables.items.put(item, changed, reference: reference)
        try tables.items.setPlace(place ?? ItemTable.Place(path: nil, isSealed: false), of: item.id)
        touched.append(item.id)
        return try tables.items.item(item.id)
    }

    /// Records the progress of a transfer, which also starts it. Ignores files whose transfer is over or only
    /// offered, because a late report may follow a cancellation.
    /// - Parameters:
    ///   - status: A transfer with its byte counts.
    func advance(_ file: FileID, to status: FileStatus, _ done: UInt64, _ total: UInt64) throws {
        guard let before = try tables.items.item(of: file)?.file?.status else { return }
        let isStart: Bool
        switch (before, status) {
        case (.sndTransfer, .sndTransfer), (.rcvTransfer, .rcvTransfer): isStart = false
        case (.sndStored, .sndTransfer), (.sndWarning, .sndTransfer), (.rcvAccepted, .rcvTransfer),
            (.rcvWarning, .rcvTransfer):
            isStart = true
        default: return
        }
        guard let item = try put(status, nil, of: file) else { return }
        if isStart { tell(.itemChanged(item, .started)) }
        tell(.fileProgress(FileProgress(of: file, in: item, done: done, total: total)))
    }

    /// Removes items that the core deleted without an event. Disappearing ones have expired.
    func removeUntold(_ items: [ItemID]) throws {
        let disappearing = Set(try items.filter(tables.items.disappears))
        try remove(items.filter(disappearing.contains), .disappeared)
        try remove(items.filter { !disappearing.contains($0) }, .deleted)
    }

    /// Removes deleted items. Pages requested before do not restore them.
    func remove(_ items: [ItemID], _ reason: DeletionReason) throws {
        for id in items { try dropText(id) }
        try removeFiles(of: items, reason)
    }

    /// As `remove`, but leaves the lines of a log.
    private func removeFiles(of items: [ItemID], _ reason: DeletionReason) throws {
        recent.note(items)
        var removed: [(chat: ChatReference, item: ItemID)] = []
        for id in items {
            guard let item = try tables.items.item(id) else { continue }
            try tables.items.remove(id)
            removed.append((item.chat, id))
            abandonedFolders += try tables.sends.remove(of: id)
            if let file = item.file, let copy = try tables.keptCopies.forget(file.id) {
                abandonedCopies.append(copy)
            }
        }
        if !removed.isEmpty { tell(.chatItemsDeleted(removed, reason)) }
    }

    // MARK: - Texts of a phone

    private func takeText(_ item: APIItem, isArrival: Bool) throws {
        guard isRemote else { return }
        let file = item.file?.chatFile(filesFolder: filesFolder, of: item.time)
        guard let line = TextLine(item, own: owner, file: file) else { return try dropText(item.id) }
        let hasGrown = try tables.texts.take(
            line, in: item.chat.reference, isArrival: isArrival, isHeld: holdsTexts,
            at: SystemWallClock().now())
        if hasGrown { try tellLog(of: item.chat.reference.chat) }
    }

    private func dropText(_ item: ItemID) throws {
        guard isRemote, let chat = try tables.texts.blank(item, at: SystemWallClock().now()) else { return }
        tellTextsGone([TextReference(item, in: chat)])
        try tellLog(of: chat)
    }

    /// Completes the log of a part whose history was read to its beginning.
    /// - Parameters:
    ///   - start: The newest item when the walk began.
    ///   - isRecent: Returns true for messages that changed meanwhile.
    func endTexts(of walk: Walk, upTo start: Int64, except isRecent: (ItemID) -> Bool) throws {
        guard isRemote else { return }
        let missed = try tables.texts.items(in: walk.reference, notMetBy: walk.number, upTo: start)
        for item in missed where !isRecent(item) { try dropText(item) }
        try place(walk.reference)
    }

    /// Completes the log of a part after the pages of its missed messages were read, unless its history is being read.
    func placeTexts(of reference: APIChatReference) throws {
        guard isRemote, try !tables.texts.isBeingRead(reference) else { return }
        try place(reference)
    }

    private func place(_ reference: APIChatReference) throws {
        guard try tables.texts.place(reference, at: SystemWallClock().now()) else { return }
        try tellLog(of: reference.chat)
    }

    private func tellLog(of chat: ChatReference) throws {
        if let log = try tables.texts.log(of: chat) { tell(.messageLogGrew(chat, log)) }
    }

    // MARK: - Chats

    /// Writes a chat and publishes a change.
    func take(_ info: APIChatInfo) throws {
        let before = try tables.chats.chat(info.chat.reference)
        try tables.chats.put(info.chat, isGone: info.isGone)
        try beginWalk(APIChatReference(info.chat.reference))
        // A conversation that no list of chats contains, found by one of its messages.
        if info.reference.scope != nil { try beginWalk(info.reference) }
        guard let after = try tables.chats.chat(info.chat.reference) else { return }
        let isChanged =
            before?.displayName != after.displayName || before?.sendingRefused != after.sendingRefused
            || before?.isNamedByUser != after.isNamedByUser
        // For a deleted chat, publishes its end, and changes while its files are shown.
        let isEnd = before != nil && before?.sendingRefused == nil
        if isChanged, try !info.isGone || isEnd || !tables.items.ids(of: info.chat.reference).isEmpty {
            tell(.chatUpdated(after))
        }
    }

    private func beginWalk(_ reference: APIChatReference) throws {
        if try tables.walks.add(reference) { beginsWalk = true }
    }

    /// Records that the user left a chat, whose history stays.
    func noteLeft(_ chat: Chat) throws {
        guard let now = try tables.chats.chat(chat.reference), now.sendingRefused == nil else { return }
        var left = now
        left.sendingRefused = "You have left this chat."
        try tables.chats.put(left, isGone: false)
        tell(.chatUpdated(left))
    }

    /// Removes a chat that the core deleted, with its items and folder.
    func removeChat(_ reference: ChatReference) throws {
        try remove(tables.items.ids(of: reference), .deleted)
        try tables.walks.remove(of: reference)
        try tables.texts.remove(of: reference)
        guard try tables.chats.chat(reference) != nil else { return }
        try tables.chats.remove(reference)
        tell(.chatRemoved(reference))
    }
}

extension FileStatus {
    /// An unfinished upload according to the core.
    fileprivate var isUpload: Bool {
        switch self {
        case .sndStored, .sndTransfer, .sndWarning: true
        default: false
        }
    }

    /// Whether the core may still receive the file.
    fileprivate var isComing: Bool {
        switch self {
        case .rcvInvitation, .rcvAccepted, .rcvTransfer, .rcvAborted, .rcvWarning: true
        default: false
        }
    }
}
