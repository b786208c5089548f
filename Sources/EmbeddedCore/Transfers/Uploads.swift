import Base
import ChatCore
import Posix

/// Uploads of chat files that do not fit into messages, and of standalone files.
final class Uploads: Sendable {
    private let store: ProfileStore
    private let scheduler: TransferScheduler
    private let transfers: any FileTransfers
    private let approvals: RelayApprovals
    private let deletions: ChunkDeletions
    private let reports: ProgressReports
    /// An unfinished upload is given up after this time, as in the SimpleX agent.
    private static let timeout = Duration.seconds(24 * 3600)

    init(
        _ store: ProfileStore, _ scheduler: TransferScheduler, _ transfers: any FileTransfers,
        _ approvals: RelayApprovals, _ deletions: ChunkDeletions
    ) {
        self.store = store
        self.scheduler = scheduler
        self.transfers = transfers
        self.approvals = approvals
        self.deletions = deletions
        reports = ProgressReports(scheduler: scheduler, events: store.events)
    }

    static let noRelay = ChatError(
        .file(.noRelay), "No relay for files is configured: 'chatfs relay add xftp://…' adds one.")

    /// Throws if no relay is configured. Blocks.
    func requireRelay() throws {
        let relays = try store.read { try $0.relays.configured(of: store.profile.id) }
        if relays.isEmpty { throw Self.noRelay }
    }

    /// Announces an upload of `size` bytes, so that connections can be opened. Returns at once.
    func expect(_ size: UInt64) {
        guard size > FilePolicy.inlineLimit else { return }
        ThreadPool.shared.submit { [self] in
            // Ignore errors; the upload itself reports them.
            let relays = try? store.read { try configured($0) }
            if let relays { transfers.expectUpload(to: relays) }
        }
    }

    /// Starts or resumes an upload. Returns at once.
    func start(_ file: FileID) {
        scheduler.start(file, in: .upload) { [weak self] in await self?.upload(file) ?? false }
    }

    /// Returns the configured relays, after permitting connections to them.
    private func configured(_ tables: ProfileTables) throws -> [RelayWithPassword] {
        try approvals.follow(tables)
        return try tables.relays.configured(of: store.profile.id)
    }

    private struct Job {
        var order: UploadOrder
        /// nil for a standalone file.
        var item: ChatItem?
        var created: Timestamp
    }

    /// Makes one attempt. Returns whether to retry.
    private func upload(_ file: FileID) async -> Bool {
        do throws(ChatError) {
            guard let job = try await blocking.run({ [self] in try begin(file) }) else { return false }
            switch await run(job, file) {
            case .success(let (result, link)):
                let isKept = try await blocking.run { [self] in try complete(file, result, link: link) }
                if !isKept { deletions.start() }
                return false
            // Cancelled or shutting down; the canceller has updated the row.
            case .failure where Task.isCancelled:
                return false
            case .failure(let failure):
                let isOver = store.clock.now() > job.created.advanced(by: Self.timeout)
                let isFinal = isOver || !failure.isTemporary
                try await blocking.run { [self] in try note(failure.problem, isFinal: isFinal, of: file) }
                return !isFinal
            }
        } catch {
            log.warning("upload failed, retrying: file=\(file.rawValue) error=\(error.sentence)")
            return true
        }
    }

    private func run(
        _ job: Job, _ file: FileID
    ) async -> Result<(UploadResult, link: UploadedLink?), TransferFailure> {
        do throws(TransferFailure) {
            let result = try await transfers.upload(job.order) { [self] state in
                try keep(state, of: file)
            } progress: { [reports] done, total in
                reports.report(TransferProgress(done: done, total: total), of: file, item: job.item)
            }
            guard job.item == nil, let description = result.recipientDescriptions.first else {
                return .success((result, nil))
            }
            return .success((result, try await transfers.link(to: description, relays: job.order.relays)))
        } catch {
            return .failure(error)
        }
    }

    private func begin(_ file: FileID) throws -> Job? {
        try store.commit { change in
            let wasStarted = try change.tables.files.status(of: file) == .sndTransfer
            guard try change.setStatus(.sndTransfer, of: file, from: StoredFileStatus.uploading) else {
                return nil
            }
            let item = try change.tables.items.item(of: file)
            if let item, !wasStarted { change.tell(.itemChanged(item, .started)) }
            let relays = try configured(change.tables)
            return try change.tables.uploads.upload(of: file).map { upload in
                let source: UploadOrder.Source =
                    switch upload.source {
                    case .elsewhere(let path, let arguments?): .cryptoFile(path: path, arguments: arguments)
                    case .elsewhere(let path, nil): .plain(path: path)
                    case .stored(let name, let arguments):
                        .cryptoFile(path: store.folders.filesPath + "/" + name, arguments: arguments)
                    }
                return Job(
                    order: UploadOrder(
                        source: source, fileName: upload.fileName, recipients: upload.recipients,
                        relays: relays, state: upload.state),
                    item: item, created: upload.created)
            }
        }
    }

    /// Stores the state of a running upload. If it was cancelled meanwhile, records its chunks for deletion.
    private func keep(_ state: [UInt8], of file: FileID) throws {
        try store.commit { change in
            if try !change.tables.uploads.keepState(state, of: file) {
                try change.tables.chunkDeletions.add(UploadedChunks(state: state), of: file, at: change.time)
            }
        }
    }

    /// Completes an upload for sender and recipients. Returns false if it was cancelled at the last moment;
    /// its chunks are then recorded for deletion.
    private func complete(_ file: FileID, _ result: UploadResult, link: UploadedLink?) throws -> Bool {
        try store.commit { change in
            guard try change.setStatus(.sndComplete, of: file, from: StoredFileStatus.uploading) else {
                let uploaded = UploadedChunks(
                    senderDescription: result.senderDescription, state: nil,
                    linkDescription: link?.senderDescription)
                try change.tables.chunkDeletions.add(uploaded, of: file, at: change.time)
                return false
            }
            try change.tables.uploads.complete(
                file, senderDescription: result.senderDescription, link: link)
            if let link { change.tell(.sndStandaloneFileComplete(file, links: [link.text])) }
            for copy in try change.tables.items.copies(of: file)
            where result.recipientDescriptions.indices.contains(copy.number) {
                try change.tables.uploads.describe(copy.file, result.recipientDescriptions[copy.number])
                try change.post(.described(copy.item), to: copy.side)
            }
            if let description = result.recipientDescriptions.first {
                try change.describe(file, description)
            }
            if try change.tables.uploads.isAnnounced(file) { try change.startExpiry(of: file) }
            try change.tell(.completed, of: file)
            return true
        }
    }

    /// Records why an upload failed or waits.
    private func note(_ problem: FileProblem, isFinal: Bool, of file: FileID) throws {
        try store.commit { change in
            guard
                try change.setStatus(
                    isFinal ? .sndError : .sndWarning, of: file, from: StoredFileStatus.uploading,
                    problem: problem)
            else { return }
            if isFinal {
                try change.scheduleChunkDeletion(ofUpload: file)
                try change.startExpiry(of: file)
            }
            guard let item = try change.tables.items.item(of: file) else {
                return change.tell(
                    isFinal
                        ? .sndStandaloneFileError(file, problem) : .standaloneFileWarning(file, problem))
            }
            change.tell(.itemChanged(item, isFinal ? .failed(problem) : .delayed(problem)))
        }
        if isFinal { deletions.start() }
    }
}
