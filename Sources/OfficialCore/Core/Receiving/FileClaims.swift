import Base
import ChatCore
import CoreServices

/// Fetching chunks beside the core, and durable copies of our own.
///
/// The core receives what is opened, for its durable copy; meanwhile the caller may fetch the chunks that a reader
/// waits for. Both use the one key of the recipient, so nothing is ever acknowledged (FACK) by either. The core's own
/// approval of the relays comes first, for both.
final class FileClaims: Sendable {
    private let connection: CoreConnection
    private let index: IndexStore
    private let receiver: FileReceiver
    private let descriptions: Descriptions
    private let staging: StagingFolder
    private let filesFolder: String
    private let remote: RemoteCopies?

    /// - Parameter remote: gets copies of files that lie on another machine; nil: they lie in `filesFolder`.
    init(
        _ connection: CoreConnection, _ index: IndexStore, _ receiver: FileReceiver,
        _ descriptions: Descriptions, _ staging: StagingFolder, filesFolder: String,
        remote: RemoteCopies? = nil
    ) {
        self.remote = remote
        self.connection = connection
        self.index = index
        self.receiver = receiver
        self.descriptions = descriptions
        self.staging = staging
        self.filesFolder = filesFolder
    }

    func claim(_ file: FileID, approvedRelays: Bool) async throws(ChatError) -> ClaimedFile? {
        let item = try await blocking.run { [index] in try index.read { try $0.item(ofReceived: file) } }
        guard let offered = item.file else { throw ChatError.noSuchFile }
        try offered.status.refuseWhenOver()
        guard descriptions.mayFetch else { return nil }
        let isUnderWay: Bool
        switch offered.status {
        case .rcvError where offered.status.isGivenUp:
            // The relays were approved when the core accepted it. It takes no second order: the copy is ours.
            return try await descriptions.fetchable(file).map { ClaimedFile(description: $0) }
        case .rcvInvitation, .rcvAborted: isUnderWay = false
        case .rcvAccepted, .rcvTransfer, .rcvWarning: isUnderWay = true
        default: return nil
        }
        guard offered.transport == .xftp, let description = try await descriptions.description(of: file)
        else { return nil }
        if !isUnderWay { try await receiver.receive(file, approved: approvedRelays) }
        // Once more: another run of the core may answer by now.
        guard await descriptions.mayBeFetched(description), descriptions.mayFetch else { return nil }
        return ClaimedFile(description: description, isReceivedByCore: true)
    }

    /// The durable copy is the core's own, and what was staged beside it is not needed; but where the core
    /// gave the file up, the staged one is kept.
    func complete(
        _ file: FileID, staged: FileSourceLocation
    ) async throws(ChatError) -> FileSourceLocation {
        if let kept = try await blocking.run({ [self] in try keep(file, staged) }) { return kept }
        await blocking.attempt("remove a copy that nobody needs") { removeFile(staged.path) }
        guard let location = try await location(of: file) else {
            throw ChatError(.noSuchFile, "The SimpleX core has not received this file yet.")
        }
        return location
    }

    /// A received CryptoFile becomes the durable copy of a file that the core gave up; nil when the core has
    /// one, or may still get it. Blocks.
    private func keep(_ file: FileID, _ staged: FileSourceLocation) throws -> FileSourceLocation? {
        guard let key = staged.arguments, let item = try index.read({ try $0.items.item(of: file) }),
            item.file?.status.isGivenUp == true
        else { return nil }
        let kept = try staging.keep(staged, as: file)
        try index.commit(durably: true) { change in
            try change.tables.keptCopies.put(file, at: kept.path, key)
            try change.setStatus(.rcvComplete, of: file, source: kept) { .rcvFileComplete($0) }
        }
        return kept
    }

    /// The core goes on receiving for its copy, and finds out itself what is wrong with a file.
    func abandon(_ file: FileID) { descriptions.forget(file) }

    /// Where the content of a readable file lies: our own copy, else what the core says now.
    /// - Parameter progress: called as a file comes from another machine.
    func location(
        of file: FileID, progress: @escaping @Sendable () -> Void = {}
    ) async throws(ChatError) -> FileSourceLocation? {
        let kept = try await blocking.run { [index] in try index.read { try $0.keptCopies.source(of: file) } }
        if let kept { return kept }
        let known = try await blocking.run { [index] in
            try index.read { tables -> (ItemID, String)? in
                guard let item = try tables.items.item(of: file),
                    let reference = try tables.items.reference(of: item.id)
                else { return nil }
                return (item.id, reference)
            }
        }
        if let remote, let (id, reference) = known, let chat = APIChatReference(text: reference) {
            return try await remote.copy(of: file, in: id, chat, progress)
        }
        guard let (id, reference) = known, let chat = APIChatReference(text: reference),
            let item = try await connection.knownItem(id, in: chat)
        else { throw ChatError.noSuchFile }
        return item.file?.source?.location(filesFolder: filesFolder)
    }

    /// Only where the core's file lies on another machine: elsewhere a copy of ours may be the last.
    func dropCopy(of file: FileID) async throws(ChatError) { try await remote?.drop(file) }

    /// A received file whose copy is damaged. The core itself fetches nothing a second time, so the good copy becomes
    /// one of ours; the core's own file stays as it is, for it belongs to the core.
    func giveUpCopy(
        of file: FileID, at location: FileSourceLocation
    ) async throws(ChatError) -> GivenUpCopy {
        let isKnown = try await blocking.run { [index] in
            try index.read { try $0.items.item(of: file) != nil }
        }
        guard isKnown else { throw ChatError.noSuchFile }
        if let remote { try await remote.giveUp(file) }
        guard try await descriptions.fetchable(file) != nil else { return .lost(.damagedCopy) }
        let item = try await blocking.run { [index] in
            try index.commit(durably: true) { change -> ChatItem? in
                let tables = change.tables
                guard let item = try tables.items.item(of: file), item.direction == .received else {
                    return nil
                }
                let kept = try tables.keptCopies.source(of: file)
                // Another copy has come meanwhile, or somebody else has said it.
                guard item.file?.status == .rcvComplete, kept == nil || kept == location else { return item }
                // The next one takes the place of its file.
                _ = try tables.keptCopies.forget(file)
                try change.setStatus(IndexChange.damagedCopy, of: file) { .chatItemUpdated($0) }
                return try tables.items.item(of: file)
            }
        }
        return item.map(GivenUpCopy.offered) ?? .lost(.damagedCopy)
    }
}

extension FileStatus {
    /// Refuses to receive what can never be had.
    /// - Throws: `.file` with why.
    func refuseWhenOver() throws(ChatError) {
        switch self {
        case .rcvCancelled: throw ChatError(.file(.cancelledBySender), "The sender cancelled the file.")
        case .rcvError(let problem) where problem.isFinal:
            throw ChatError(.file(problem.kind), problem.sentence)
        default: return
        }
    }
}
