import Base
import ChatCore

/// A change of the index under way, and what follows from it for the listeners when it is committed.
final class IndexChange {
    let tables: IndexTables
    private let recent: RecentEvents
    private let owner: String
    private let filesFolder: String
    private let isRemote: Bool
    private(set) var events: [ChatEvent] = []
    /// Folders of sent files whose items are gone.
    private(set) var abandonedFolders: [String] = []
    /// Copies of our own whose items are gone.
    private(set) var abandonedCopies: [String] = []
    /// A walk through a history was begun.
    private(set) var beginsWalk = false
    /// Items whose status was told without the item.
    private(set) var touched: [ItemID] = []

    /// - Parameter isRemote: see `IndexStore`.
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

    /// A message without a file, which is not kept: only that it has come is told.
    func tellText(_ item: APIItem) {
        guard item.direction == .received, item.file == nil,
            let text = item.chatItem(own: owner, filesFolder: filesFolder), !text.content.text.isEmpty
        else { return }
        tell(.textArrived(text))
    }

    // MARK: - Items

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

    /// How a received file whose copy turned out to be damaged stands in the index until there is a good one: as one
    /// that the core gave up.
    static let damagedCopy = FileStatus.rcvError(
        FileProblem(.other, "The stored copy of this file is damaged: reading it fetches it once more."))

    /// Writes what the core said about an item and tells it. Items without a file, stubs of deleted ones
    /// and chats that are gone are not shown; one that became such is removed. The item as it is now, nil
    /// when it is not shown.
    @discardableResult
    func take(
        _ item: APIItem, _ occasion: Occasion, _ event: ((ChatItem) -> ChatEvent)? = nil
    ) throws -> ChatItem? {
        let before = try tables.items.item(item.id)
        guard let shown = item.chatItem(own: owner, filesFolder: filesFolder), let told = shown.file else {
            if before != nil { try remove([item.id], item.deletion?.reason ?? .deleted) }
            return nil
        }
        var file = told
        // Its path is one of the other machine.
        if isRemote { file.source = try tables.keptCopies.source(of: file.id) ?? ItemTable.Place.elsewhere }
        try correct(
            &file, before: before?.file?.status, isFirst: before == nil, occasion, isTold: event != nil)
        if shown.isDeletedBySender, file.status != .rcvComplete {
            if before != nil { try remove([item.id], .deleted) }
            return nil
        }
        try tables.items.put(
            shown, file, reference: item.chat.reference.description, isRead: item.isRead)
        if item.disappears { try tables.items.noteThatItDisappears(item.id) }
        guard let after = try tables.items.item(item.id) else { return nil }
        if before == nil {
            if occasion != .sending { tell(.newChatItems([after])) }
        } else if let event {
            tell(event(after))
        } else if before != after {
            tell(.chatItemUpdated(after))
        }
        return after
    }

    /// What is known here and the core does not say.
    /// - Parameters:
    ///   - before: how the file stood in the index.
    ///   - isTold: the core told an event about it.
    private func correct(
        _ file: inout ChatFile, before: FileStatus?, isFirst: Bool, _ occasion: Occasion, isTold: Bool
    ) throws {
        if case .rcvInvitation = file.status {
            // An item that is met later is taken to be described: a claim finds out.
            let isDescribed = occasion == .described || (occasion == .look && isFirst)
            file.status = .rcvInvitation(described: isDescribed)
            // To the core it is an offer as any other; why it was not received at arrival stays.
            if case .rcvAborted? = before, let before { file.status = before }
        }
        if !isTold, file.status == .rcvComplete, before == Self.damagedCopy {
            // The core knows nothing of what happened to its file.
            file.status = Self.damagedCopy
        }
        if file.status.isGivenUp || file.status == .rcvComplete,
            let kept = try tables.keptCopies.source(of: file.id)
        {
            (file.status, file.source) = (.rcvComplete, kept)
        }
        if let before, file.status.isUpload {
            // The core forgot the end of this upload (`LostUploads`); what was found out stays.
            switch before {
            case .sndError, .sndComplete: file.status = before
            default: break
            }
        }
    }

    /// A copy of a file on another machine has come here, or has gone (nil).
    func setCopy(_ source: FileSourceLocation?, of file: FileID) throws {
        guard let item = try tables.items.item(of: file) else { return }
        let place = source ?? ItemTable.Place.elsewhere
        try tables.items.setPlace(ItemTable.Place(path: place.path, isSealed: true), of: item.id)
        if let after = try tables.items.item(item.id), after != item { tell(.chatItemUpdated(after)) }
    }

    /// Changes the status of a file that is known, and where it lies. Nothing when it is not.
    func setStatus(
        _ status: FileStatus, of file: FileID, source: FileSourceLocation? = nil,
        _ event: (ChatItem) -> ChatEvent
    ) throws {
        guard let item = try tables.items.item(of: file), var changed = item.file,
            let reference = try tables.items.reference(of: item.id)
        else { return }
        // The path of a key that is not here must not be lost.
        let place =
            try source.map { ItemTable.Place(path: $0.path, isSealed: $0.arguments != nil) }
            ?? tables.items.place(of: item.id)
        changed.status = status
        try tables.items.put(item, changed, reference: reference)
        try tables.items.setPlace(place ?? ItemTable.Place(path: nil, isSealed: false), of: item.id)
        if let after = try tables.items.item(item.id) { tell(event(after)) }
        touched.append(item.id)
    }

    /// Notes how far the core is with a file, which begins with that where it was only accepted or stored, or waited. A
    /// file whose transfer is over, or that is only offered, stays as it is: a report may come after the answer to the
    /// command that cancelled it.
    /// - Parameters:
    ///   - status: a transfer, with its numbers.
    ///   - start: told first where it was none before.
    func advance(
        _ file: FileID, to status: FileStatus, start: (ChatItem) -> ChatEvent,
        progress: (ChatItem) -> ChatEvent
    ) throws {
        guard let before = try tables.items.item(of: file)?.file?.status else { return }
        let isStart: Bool
        switch (before, status) {
        case (.sndTransfer, .sndTransfer), (.rcvTransfer, .rcvTransfer): isStart = false
        case (.sndStored, .sndTransfer), (.sndWarning, .sndTransfer), (.rcvAccepted, .rcvTransfer),
            (.rcvWarning, .rcvTransfer):
            isStart = true
        default: return
        }
        try setStatus(status, of: file) { item in
            if isStart { tell(start(item)) }
            return progress(item)
        }
    }

    /// Items that the core no longer has and said nothing about: the time of disappearing ones is over.
    func removeUntold(_ items: [ItemID]) throws {
        let disappearing = Set(try items.filter(tables.items.disappears))
        try remove(items.filter(disappearing.contains), .disappeared)
        try remove(items.filter { !disappearing.contains($0) }, .deleted)
    }

    /// Items that are gone. No page that was asked for before brings them back.
    func remove(_ items: [ItemID], _ reason: DeletionReason) throws {
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

    // MARK: - Chats

    /// Writes a chat and tells it when something about it is new.
    func take(_ info: APIChatInfo) throws {
        let before = try tables.chats.chat(info.chat.reference)
        try tables.chats.put(info.chat, isGone: info.isGone)
        try beginWalk(APIChatReference(info.chat.reference))
        // A conversation that no list of chats names, met by a message in it.
        if info.reference.scope != nil { try beginWalk(info.reference) }
        guard let after = try tables.chats.chat(info.chat.reference) else { return }
        let isChanged =
            before?.displayName != after.displayName || before?.sendingRefused != after.sendingRefused
            || before?.isNamedByUser != after.isNamedByUser
        // Of one that is gone its end is told, and what happens to it while its files are shown.
        let isEnd = before != nil && before?.sendingRefused == nil
        if isChanged, try !info.isGone || isEnd || !tables.items.ids(of: info.chat.reference).isEmpty {
            tell(.chatUpdated(after))
        }
    }

    private func beginWalk(_ reference: APIChatReference) throws {
        if try tables.walks.add(reference) { beginsWalk = true }
    }

    /// The user has left a chat, which stays for its history.
    func noteLeft(_ chat: Chat) throws {
        guard let now = try tables.chats.chat(chat.reference), now.sendingRefused == nil else { return }
        var left = now
        left.sendingRefused = "You have left this chat."
        try tables.chats.put(left, isGone: false)
        tell(.chatUpdated(left))
    }

    /// A chat that the core no longer has: its items go, and its folder.
    func removeChat(_ reference: ChatReference) throws {
        try remove(tables.items.ids(of: reference), .deleted)
        try tables.walks.remove(of: reference)
        guard try tables.chats.chat(reference) != nil else { return }
        try tables.chats.remove(reference)
        tell(.chatRemoved(reference))
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
