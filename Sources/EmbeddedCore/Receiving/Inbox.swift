import Base
import ChatCore
import CoreServices

/// Messages and events from other profiles' processes. All calls block.
final class Inbox: Sendable {
    private let store: ProfileStore
    private let inlineFiles: InlineFiles
    private let receiver: FileReceiver
    private let downloads: Downloads
    private let claims: FileClaims
    private let deletions: ChunkDeletions

    /// Entries per transaction.
    private static let batch = FileReceiver.batch

    init(
        _ store: ProfileStore, _ inlineFiles: InlineFiles, _ receiver: FileReceiver, _ downloads: Downloads,
        _ claims: FileClaims, _ deletions: ChunkDeletions
    ) {
        self.store = store
        self.inlineFiles = inlineFiles
        self.receiver = receiver
        self.downloads = downloads
        self.claims = claims
        self.deletions = deletions
    }

    /// Processes entries at start without events, because listeners read the lists afterwards. Removes files
    /// without rows.
    func processAtStart() throws {
        try inlineFiles.storeAll(telling: false)
        let continued = try store.commit { change in
            try change.tables.inbox.removeAll(for: store.profile.id)
            return try change.tables.downloads.downloading()
        }
        let names = try store.folders.names()
        let unnamed = try store.read { tables in try names.filter { try !tables.files.hasStored($0) } }
        if !unnamed.isEmpty {
            try store.commitOverUnfinished()
            for name in unnamed { store.folders.remove(name) }
        }
        try store.folders.removeIncoming(except: continued)
        try store.folders.sweepStaging(now: SystemWallClock().now())
        try claims.removeObsoleteDamagedCopies()
    }

    /// Processes new entries on the change signal's thread. Returns false on a failure such as a full disk or
    /// a locked database.
    func takeIn() -> Bool {
        do {
            try inlineFiles.storeAll(telling: true)
            while try processEntries() == Self.batch {}
            // Senders may have deleted messages with damaged copies.
            try claims.removeObsoleteDamagedCopies()
            return true
        } catch {
            log.warning(
                "inbox not processed, retrying: error=\(Base.sentence(of: error))")
            return false
        }
    }

    /// Processes the oldest entries and returns their number.
    private func processEntries() throws -> Int {
        // Read first: most signals are for other profiles and should not cost a write.
        let waiting = try store.read { try $0.inbox.waiting(for: store.profile.id, limit: Self.batch) }
        guard !waiting.isEmpty else { return 0 }
        let described = waiting.compactMap { waiting -> ItemID? in
            if case .described(let item) = waiting.entry { item } else { nil }
        }
        let descriptions = try receiver.descriptionsToBegin(of: described)
        var followUps: [FollowUp] = []
        try store.commit { change in
            let entries = try change.tables.inbox.waiting(for: store.profile.id, limit: waiting.count)
            for waiting in entries {
                if let followUp = try act(on: waiting, descriptions, change) { followUps.append(followUp) }
                try change.tables.inbox.remove(waiting.id)
            }
        }
        for followUp in followUps { carryOut(followUp) }
        return waiting.count
    }

    /// Work after the commit.
    private enum FollowUp {
        case startDownload(FileID)
        case endTransfer(FileID)
        case endUpload(FileID)
    }

    private func carryOut(_ followUp: FollowUp) {
        switch followUp {
        case .startDownload(let file): downloads.start(file)
        case .endTransfer(let file): Task { [weak downloads] in await downloads?.end(file) }
        case .endUpload(let file):
            Task { [weak downloads, deletions] in
                await downloads?.end(file)
                deletions.start()
            }
        }
    }

    /// Processes one entry.
    private func act(
        on waiting: InboxTable.Waiting, _ descriptions: [FileID: ReceivedDescription],
        _ change: ProfileChange
    ) throws -> FollowUp? {
        switch waiting.entry {
        case .newItem(let id):
            guard let item = try change.tables.items.item(id) else { return nil }
            change.tell(.newChatItems([item]))
            if item.file?.status == .rcvComplete { change.tell(.itemChanged(item, .completed)) }
        case .described(let id):
            guard let item = try change.tables.items.item(id), let file = item.file else { return nil }
            change.tell(.itemChanged(item, .described))
            if try receiver.beginIfRequested(item, file, descriptions[file.id], change) {
                return .startDownload(file.id)
            }
        case .cancelled(let id):
            guard let item = try change.tables.items.item(id), let file = item.file else { return nil }
            change.tell(.itemChanged(item, .cancelledByPeer))
            return .endTransfer(file.id)
        case .failed(let id):
            guard let item = try change.tables.items.item(id), case .rcvError(let problem) = item.file?.status
            else { return nil }
            change.tell(.itemChanged(item, .failed(problem)))
        case .unsent(let id):
            guard let file = try change.tables.items.item(id)?.file else { return nil }
            return .endUpload(file.id)
        case .deleted(let id, let storedName):
            change.abandon(storedName)
            let chat = try change.tables.chats.chat(waiting.chat, of: store.profile.id)?.reference
            if let chat { change.tell(.chatItemsDeleted([(chat, id)], .deleted)) }
        case .chatUpdated:
            if let chat = try change.tables.chats.chat(waiting.chat, of: store.profile.id) {
                change.tell(.chatUpdated(chat))
            }
        case .messageLogGrew: change.noteLogGrew(in: waiting.chat)
        }
        return nil
    }
}
