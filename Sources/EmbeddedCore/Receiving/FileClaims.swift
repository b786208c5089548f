import ChatCore
import Glibc

/// Files claimed for fetching by chunks, and their damaged copies.
struct FileClaims: Sendable {
    let store: ProfileStore
    let scheduler: TransferScheduler
    let relays: RelayApprovals
    let downloads: Downloads
    let damaged: DamagedCopies

    func claim(_ file: FileID, approvedRelays: Bool) async throws(ChatError) -> ClaimedFile? {
        guard !scheduler.isBusy(with: file) else { return nil }
        guard scheduler.claim(file) else { throw FileReceiver.alreadyReceiving }
        do throws(ChatError) {
            let claimed = try await blocking.run { [self] in
                try description(of: file, approvedRelays: approvedRelays).map { text in
                    ClaimedFile(description: text, keepsStream: true, remains: damaged.remains(of: file))
                }
            }
            if claimed == nil { scheduler.endClaim(file) }
            return claimed
        } catch {
            scheduler.endClaim(file)
            throw error
        }
    }

    /// Returns the description; nil if the file is not offered. Blocks.
    private func description(of file: FileID, approvedRelays: Bool) throws -> String? {
        let offer = try store.read { try $0.downloads.existingOffer(file) }
        try offer.refuseWhenOver()
        guard offer.isDescribed, StoredFileStatus.offered.contains(offer.status),
            let description = try relays.description(of: file)
        else { return nil }
        try store.read { try relays.check(description, approvedNow: approvedRelays, $0) }
        return description.text
    }

    func complete(
        _ file: FileID, staged: FileSourceLocation
    ) async throws(ChatError) -> FileSourceLocation {
        defer { scheduler.endClaim(file) }
        return try await blocking.run { [downloads] in
            do {
                return try downloads.keep(staged, of: file)
            } catch {
                unlink(staged.path)
                throw error
            }
        }
    }

    func abandon(_ file: FileID, problem: FileProblem?) async {
        scheduler.endClaim(file)
        guard let problem, problem.isFinal else { return }
        await blocking.attempt("store why a download failed") { [store] in
            try store.commit { change in
                guard
                    try change.setStatus(
                        .rcvError, of: file, from: StoredFileStatus.offered, problem: problem)
                else { return }
                try change.tell(.failed(problem), of: file)
            }
        }
    }

    // MARK: - Damaged copies

    /// Makes a received file with a damaged copy an offer again, if its description is here. Otherwise keeps
    /// the damaged copy in place.
    func giveUpCopy(
        of file: FileID, at location: FileSourceLocation
    ) async throws(ChatError) -> GivenUpCopy {
        try await blocking.run { [self] in
            guard let item = try item(of: file) else { throw ChatError.noSuchFile }
            // Another copy arrived meanwhile.
            guard item.file?.source == location else { return .offered(item) }
            try damaged.setAside(location, of: file)
            let isOffered = try store.commit { try offerAgain(file, at: location, $0) }
            guard isOffered, let item = try self.item(of: file) else {
                return .lost(FileProblem.damagedCopy.mentioning(damaged.remains(of: file)))
            }
            return .offered(item)
        }
    }

    private func item(of file: FileID) throws -> ChatItem? {
        try store.read { try $0.items.item(of: file) }
    }

    private func offerAgain(
        _ file: FileID, at location: FileSourceLocation, _ change: ProfileChange
    ) throws -> Bool {
        let name = try change.tables.downloads.replaceableCopy(of: file)
        guard let name, store.folders.filesPath + "/" + name == location.path else { return false }
        try change.tables.downloads.offerAgain(file)
        change.abandon(name)
        try change.tell(.updated, of: file)
        return true
    }

    /// Removes damaged copies whose file is deleted or has a good copy. Blocks.
    func removeObsoleteDamagedCopies() throws {
        for file in try damaged.files where try !store.read({ try $0.downloads.lacksGoodCopy(file) }) {
            damaged.remove(of: file)
        }
    }
}
