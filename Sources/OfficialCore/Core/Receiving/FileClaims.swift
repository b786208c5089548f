import Base
import ChatCore
import CoreServices

/// Claims files for fetching chunks beside the core, and keeps durable copies of this process.
///
/// The core receives an opened file for its durable copy. Meanwhile this process may fetch chunks for
/// readers. Both use the same recipient key, so neither sends an acknowledgement (FACK). The core's approval
/// of the relays comes first for both.
struct FileClaims: Sendable {
    let connection: CoreConnection
    let index: IndexStore
    let receiver: FileReceiver
    let descriptions: Descriptions
    let staging: StagingFolder
    let filesFolder: String
    /// Fetches files from another machine; nil means that they are in `filesFolder`.
    let remote: RemoteCopies?

    func claim(_ file: FileID, approvedRelays: Bool) async throws(ChatError) -> ClaimedFile? {
        let item = try await index.reading { try $0.item(ofReceived: file) }
        guard let offered = item.file else { throw ChatError.noSuchFile }
        try offered.status.refuseWhenOver()
        guard descriptions.mayFetch else { return nil }
        if remote != nil { return await claimFromRelays(offered, of: item.id) }
        let isUnderWay: Bool
        switch offered.status {
        case .rcvError where offered.status.isGivenUp:
            // The relays were approved when the core accepted the file. The core does not accept it twice, so
            // this process keeps the copy.
            return try await descriptions.fetchable(file, in: item.id).map { ClaimedFile(description: $0) }
        case .rcvInvitation, .rcvAborted: isUnderWay = false
        case .rcvAccepted, .rcvTransfer, .rcvWarning: isUnderWay = true
        default: return nil
        }
        guard offered.transport == .xftp,
            let description = try await descriptions.description(of: file, in: item.id)
        else { return nil }
        if !isUnderWay { try await receiver.receive(file, approved: approvedRelays) }
        // Checked again, because the core may have restarted meanwhile.
        guard await descriptions.mayBeFetched(description), descriptions.mayFetch else { return nil }
        return ClaimedFile(description: description, isReceivedByCore: true)
    }

    /// Returns the relays that a received file's description names; empty if none is at hand.
    func relays(of file: FileID) async -> [String] {
        do throws(ChatError) {
            let item = try await index.reading { try $0.item(ofReceived: file) }.id
            let text =
                try await remote == nil
                ? descriptions.description(of: file, in: item) : descriptions.told(file, in: item)
            return await Descriptions.relays(in: text)
        } catch {
            // They are only shown to the user.
            return []
        }
    }

    /// Claims a file that the phone has not received, if an event brought its description: this process fetches and keeps
    /// it, without the phone and its storage. Returns nil if the phone must receive it.
    private func claimFromRelays(_ offered: ChatFile, of item: ItemID) async -> ClaimedFile? {
        switch offered.status {
        case .rcvInvitation, .rcvAborted: break
        default: return nil
        }
        guard offered.transport == .xftp, let description = descriptions.told(offered.id, in: item),
            await receiver.mayReplacePhone(for: description), descriptions.mayFetch
        else { return nil }
        return ClaimedFile(description: description)
    }

    /// Completes a claim. The core makes the durable copy, so the staged one is removed, unless the core gave
    /// up the file or is a phone's.
    func complete(
        _ file: FileID, staged: FileSourceLocation
    ) async throws(ChatError) -> FileSourceLocation {
        if let kept = try await blocking.run({ [self] in try keep(file, staged) }) { return kept }
        await blocking.attempt("remove an unneeded copy") { removeFile(staged.path) }
        guard let location = try await location(of: file) else {
            throw ChatError(.noSuchFile, "The SimpleX core has not received this file yet.")
        }
        return location
    }

    /// Keeps a received CryptoFile as the durable copy of a file that the core gave up or that only a phone could give.
    /// Returns nil if the core has a copy or may get one. Blocks.
    private func keep(_ file: FileID, _ staged: FileSourceLocation) throws -> FileSourceLocation? {
        guard let key = staged.arguments, let item = try index.read({ try $0.items.item(of: file) }),
            remote != nil || item.file?.status.isGivenUp == true
        else { return nil }
        let kept = try staging.keep(staged, as: file)
        try index.commit(durably: true) { change in
            try change.tables.keptCopies.put(file, at: kept.path, key)
            try change.setStatus(.rcvComplete, of: file, source: kept, .completed)
        }
        return kept
    }

    /// Abandons a claim. The core continues to receive its copy.
    func abandon(_ file: FileID) { descriptions.forget(file) }

    /// Returns the content's location: this process's copy, else the core's current one.
    /// - Parameter progress: Called as a file arrives from another machine.
    func location(
        of file: FileID, progress: @escaping @Sendable () -> Void = {}
    ) async throws(ChatError) -> FileSourceLocation? {
        let kept = try await index.reading { try $0.keptCopies.source(of: file) }
        if let kept { return kept }
        let known = try await index.reading { tables -> (ItemID, String)? in
            guard let item = try tables.items.item(of: file),
                let reference = try tables.items.reference(of: item.id)
            else { return nil }
            return (item.id, reference)
        }
        if let remote, let (id, reference) = known, let chat = APIChatReference(text: reference) {
            return try await remote.copy(of: file, in: id, chat, progress)
        }
        guard let (id, reference) = known, let chat = APIChatReference(text: reference),
            let item = try await connection.knownItem(id, in: chat)
        else { throw ChatError.noSuchFile }
        return item.file?.source?.location(filesFolder: filesFolder)
    }

    /// Only for files on another machine; elsewhere the copy may be the only one.
    func dropCopy(of file: FileID) async throws(ChatError) { try await remote?.drop(file) }

    /// Handles a received file with a damaged copy. The core downloads no file twice, so this process keeps
    /// the next copy. The core's own file stays unchanged.
    func giveUpCopy(
        of file: FileID, at location: FileSourceLocation
    ) async throws(ChatError) -> GivenUpCopy {
        let known = try await index.reading { try $0.items.item(of: file) }
        guard let known else { throw ChatError.noSuchFile }
        if let remote { try await remote.giveUp(file) }
        guard try await descriptions.fetchable(file, in: known.id) != nil else { return .lost(.damagedCopy) }
        let item = try await blocking.run { [index] in
            try index.commit(durably: true) { change -> ChatItem? in
                let tables = change.tables
                guard let item = try tables.items.item(of: file), item.direction == .received else {
                    return nil
                }
                let kept = try tables.keptCopies.source(of: file)
                // Another copy arrived meanwhile, or the damage is already recorded.
                guard item.file?.status == .rcvComplete, kept == nil || kept == location else { return item }
                // The next copy replaces its file.
                _ = try tables.keptCopies.forget(file)
                try change.setStatus(IndexChange.damagedCopy, of: file, .updated)
                return try tables.items.item(of: file)
            }
        }
        return item.map(GivenUpCopy.offered) ?? .lost(.damagedCopy)
    }
}

extension FileStatus {
    /// Rejects files that can never be received.
    /// - Throws: `.file` with the reason.
    func refuseWhenOver() throws(ChatError) {
        switch self {
        case .rcvCancelled: throw ChatError(.file(.cancelledBySender), "The sender cancelled the file.")
        case .rcvError(let problem) where problem.isFinal:
            throw ChatError(.file(problem.kind), problem.sentence)
        default: return
        }
    }
}
