import Base
import ChatCore

/// Decides which offered files to receive: on request, or automatically by type and size. `Downloads` fetches
/// them.
struct FileReceiver: Sendable {
    let store: ProfileStore
    let scheduler: TransferScheduler
    let relays: RelayApprovals
    let inlineFiles: InlineFiles
    let downloads: Downloads

    /// Number of files per transaction and of descriptions in memory. A contact may offer any number.
    static let batch = 64

    static let alreadyReceiving = ChatError(.alreadyReceiving, "The file is being received already.")

    // MARK: - On request

    /// Starts to receive a file, or as soon as its description arrives. Requests an inline file from its
    /// sender. A running transfer continues; a complete file is reported again.
    /// - Parameter acceptsEarly: whether the file counts as accepted before its description arrives.
    func receive(
        _ file: FileID, approvedRelays: Bool, acceptsEarly: Bool
    ) async throws(ChatError) {
        guard !scheduler.isClaimed(file) else { throw Self.alreadyReceiving }
        let starts = try await blocking.run { [self] in
            if try store.read({ try $0.inlineContents.holds(file) }) {
                try inlineFiles.takeIn(file, telling: true)
            }
            if try store.read({ try $0.downloads.existingOffer(file).transport == .smp }) {
                if let refused = try store.commit({ try ask(for: file, $0) }) {
                    throw ChatError(.file(refused.kind), refused.sentence)
                }
                return false
            }
            while true {
                let description = try relays.description(of: file)
                let starts = try store.commit { change in
                    try begin(
                        file, description, approvedRelays: approvedRelays, acceptsEarly: acceptsEarly, change)
                }
                if let starts { return starts }
            }
        }
        if starts { downloads.start(file) }
    }

    /// Requests an inline file. Returns the reason if it is unavailable.
    private func ask(for file: FileID, _ change: ProfileChange) throws -> FileProblem? {
        let offer = try change.tables.downloads.existingOffer(file)
        switch offer.status {
        case .rcvComplete: try change.tell(.completed, of: file)
        case .rcvAccepted, .rcvTransfer, .rcvWarning: break
        default:
            try offer.refuseWhenOver()
            return try change.receiveInline(file)
        }
        return nil
    }

    /// Returns whether to start the download now; nil if a description arrived after the lookup.
    private func begin(
        _ file: FileID, _ description: ReceivedDescription?, approvedRelays: Bool, acceptsEarly: Bool,
        _ change: ProfileChange
    ) throws -> Bool? {
        let offer = try change.tables.downloads.existingOffer(file)
        switch offer.status {
        case .rcvComplete:
            try change.tell(.completed, of: file)
            return false
        case .rcvAccepted, .rcvTransfer, .rcvWarning:
            return offer.isDescribed
        default:
            try offer.refuseWhenOver()
        }
        if offer.isDescribed {
            guard let description else { return nil }
            try relays.check(description, approvedNow: approvedRelays, change.tables)
        }
        let status = offer.isDescribed || acceptsEarly ? .rcvAccepted : offer.status
        try change.tables.downloads.request(file, status, isApproved: approvedRelays)
        if status == .rcvAccepted { try change.tell(.accepted, of: file) }
        return offer.isDescribed
    }

    // MARK: - Automatically

    /// Whether a described file should be received now, because of a request or its type and size.
    private func isWanted(_ item: ChatItem, _ file: ChatFile, _ tables: ProfileTables) throws -> Bool {
        let offer = try tables.downloads.existingOffer(file.id)
        guard offer.isDescribed, [.rcvInvitation, .rcvAccepted, .rcvAborted].contains(offer.status),
            !scheduler.isClaimed(file.id)
        else { return false }
        if offer.wish == .none, try !isAffordable(item, file, tables) { return false }
        switch offer.wish {
        case .declined: return false
        case .none: return store.arrivals.receives(item)
        case .requested: return true
        }
    }

    /// Whether the author's budgets and the free disk space allow an automatic file. Otherwise it stays an
    /// offer until read.
    private func isAffordable(_ item: ChatItem, _ file: ChatFile, _ tables: ProfileTables) throws -> Bool {
        let (now, free) = (tables.directory.elapsed, store.folders.freeBytes)
        guard let (key, chat) = try tables.sharedMessages.received(item.id) else {
            return ReceptionBudget(since: now).allows(file.size, free: free, at: now)
        }
        return try tables.network.budgets.allow(file.size, of: key.author, in: chat, free: free, at: now)
    }

    /// Charges the author's budgets. Local profiles have no budget.
    private func spend(_ file: ChatFile, of item: ItemID, _ tables: ProfileTables) throws {
        guard let (key, chat) = try tables.sharedMessages.received(item) else { return }
        try tables.network.budgets.spend(
            file.size, of: key.author, in: chat, at: tables.directory.elapsed)
    }

    /// Returns descriptions of those files that would be received now. Blocks; not inside a transaction.
    /// - Parameter items: at most `batch`.
    func descriptionsToBegin(of items: [ItemID]) throws -> [FileID: ReceivedDescription] {
        assert(items.count <= Self.batch, "descriptions of \(items.count) files are read at once")
        let wanted = try store.read { tables in
            try items.compactMap { id -> FileID? in
                guard let item = try tables.items.item(id), let file = item.file,
                    try isWanted(item, file, tables)
                else { return nil }
                return file.id
            }
        }
        var descriptions: [FileID: ReceivedDescription] = [:]
        for file in wanted { descriptions[file] = try relays.description(of: file) }
        return descriptions
    }

    /// Decides, after a description arrived or relays were approved, whether to receive the file. A file on
    /// unapproved relays stays an offer with that problem. One with a damaged description fails, so that it is
    /// parsed only once.
    ///
    /// - Parameter description: nil if the file was not wanted at the lookup. A later request has already
    ///   started it.
    func beginIfRequested(
        _ item: ChatItem, _ file: ChatFile, _ description: ReceivedDescription?, _ change: ProfileChange
    ) throws -> Bool {
        guard let description, try isWanted(item, file, change.tables) else { return false }
        let offer = try change.tables.downloads.existingOffer(file.id)
        do {
            try relays.check(description, approvedNow: offer.isApproved, change.tables)
        } catch let error as ChatError {
            guard case .file(let kind) = error.code else { return false }
            let problem = FileProblem(kind, error.sentence)
            let status: StoredFileStatus = kind == .notApproved ? .rcvAborted : .rcvError
            guard offer.status != status || offer.problem != problem else { return false }
            if try change.setStatus(status, of: file.id, from: [offer.status], problem: problem) {
                try change.tell(status == .rcvError ? .failed(problem) : .updated, of: file.id)
            }
            return false
        }
        if try change.setStatus(.rcvAccepted, of: file.id, from: StoredFileStatus.offered) {
            if offer.wish == .none { try spend(file, of: item.id, change.tables) }
            try change.tell(.accepted, of: file.id)
        }
        return true
    }

    /// Starts to receive wanted files in these states, and returns them. Blocks.
    @discardableResult
    func beginRequested(ofStatus statuses: [StoredFileStatus]) throws -> [FileID] {
        let now = store.clock.now()
        let offers = try store.read { try $0.downloads.items(ofDescribed: statuses, at: now) }
        var begun: [FileID] = []
        for start in stride(from: 0, to: offers.count, by: Self.batch) {
            let batch = Array(offers[start...].prefix(Self.batch))
            let descriptions = try descriptionsToBegin(of: batch)
            guard !descriptions.isEmpty else { continue }
            begun += try store.commit { change in
                try batch.compactMap { offer -> FileID? in
                    guard let item = try change.tables.items.item(offer), let file = item.file,
                        try beginIfRequested(item, file, descriptions[file.id], change)
                    else { return nil }
                    return file.id
                }
            }
        }
        return begun
    }

    /// Receives waiting files after relays were approved or the policy changed.
    func relaysWereApproved() async {
        do throws(ChatError) {
            let begun = try await blocking.run { [self] in try beginRequested(ofStatus: [.rcvAborted]) }
            for file in begun { downloads.start(file) }
        } catch {
            log.warning("files of approved relays not started: error=\(error.sentence)")
        }
    }
}
