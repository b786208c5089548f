import Base
import ChatCore

/// Deletes sent chunks from relays. A deletion is recorded in the transaction that causes it, and retried
/// until relays have replied or the chunks have expired.
final class ChunkDeletions: Sendable {
    private let store: ProfileStore
    private let scheduler: TransferScheduler
    private let transfers: any FileTransfers

    init(_ store: ProfileStore, _ scheduler: TransferScheduler, _ transfers: any FileTransfers) {
        self.store = store
        self.scheduler = scheduler
        self.transfers = transfers
    }

    /// Starts all pending deletions. Waits for uploads that are still ending. Returns at once.
    func start() {
        Task { [weak self] in
            guard let self else { return }
            let files = await blocking.attempt("read pending chunk deletions") { [store] in
                try store.read { try $0.chunkDeletions.files() }
            }
            for file in files ?? [] {
                scheduler.start(file, in: .deletion) { [weak self] in await self?.delete(file) ?? false }
            }
        }
    }

    /// Makes one attempt within 8 s for a caller about to exit; later attempts run in the background.
    func tryOnce(_ file: FileID) async {
        let attempt = Task { await delete(file) }
        if case .success(false)? = await attempt.result(within: .seconds(8)) { return }
        attempt.cancel()
        start()
    }

    /// Makes one attempt. Returns whether to retry.
    private func delete(_ file: FileID) async -> Bool {
        let found = await blocking.attempt("read a pending chunk deletion") { [store] in
            try store.read { try $0.chunkDeletions.deletion(of: file) }
        }
        guard let deletion = found ?? nil else { return false }
        do throws(TransferFailure) {
            try await transfers.deleteChunks(of: deletion.uploaded)
        } catch {
            if Task.isCancelled { return false }
            let isOver = store.clock.now() > deletion.created.advanced(by: FilePolicy.relayRetention)
            if error.isTemporary && !isOver { return true }
            log.notice("chunks not deleted: file=\(file.rawValue) error=\(error.problem.sentence)")
        }
        await blocking.attempt("remove a finished chunk deletion") { [store] in
            try store.commit { try $0.tables.chunkDeletions.remove(file) }
        }
        return false
    }
}

extension ProfileChange {
    /// Records an upload's chunks for deletion. Call `ChunkDeletions.start` after the commit.
    func scheduleChunkDeletion(ofUpload file: FileID) throws {
        guard let uploaded = try tables.uploads.uploadedChunks(of: file),
            uploaded.senderDescription != nil || uploaded.state != nil
        else { return }
        try tables.chunkDeletions.add(uploaded, of: file, at: time)
        try tables.uploads.forgetUploadedChunks(of: file)
    }
}
