import Base
import ChatCore
import CoreServices
import Cryptography
import Glibc

/// Downloads of chat files by the core, from the first chunk to the stored CryptoFile. Also stores downloads
/// of other parts.
final class Downloads: Sendable {
    private let store: ProfileStore
    private let scheduler: TransferScheduler
    private let transfers: any FileTransfers
    private let relays: RelayApprovals
    private let damaged: DamagedCopies
    private let reports: ProgressReports

    init(
        _ store: ProfileStore, _ scheduler: TransferScheduler, _ transfers: any FileTransfers,
        _ relays: RelayApprovals, _ damaged: DamagedCopies
    ) {
        self.store = store
        self.scheduler = scheduler
        self.transfers = transfers
        self.relays = relays
        self.damaged = damaged
        reports = ProgressReports(scheduler: scheduler, events: store.events)
    }

    /// Starts or resumes a download. Returns at once.
    func start(_ file: FileID) {
        scheduler.start(file, in: .download) { [weak self] in await self?.download(file) ?? false }
    }

    /// Stops a transfer and removes its partial file.
    func end(_ file: FileID) async {
        scheduler.endClaim(file)
        await scheduler.stop(file)
        let incoming = store.folders.incomingPath(of: file)
        // Usually there is no such file.
        await blocking.attempt("remove a partial download") { unlink(incoming) }
    }

    /// Makes one attempt. Returns whether to retry.
    private func download(_ file: FileID) async -> Bool {
        do throws(ChatError) {
            guard let job = try await blocking.run({ [self] in try begin(file) }) else { return false }
            switch await fetch(job, file) {
            case .success:
                _ = try await blocking.run { [self] in try keep(job.location, of: file) }
                return false
            case .failure where Task.isCancelled:
                return false
            case .failure(let failure) where failure.problem.kind == .noSpace && !job.isAsked:
                try await blocking.run { [self] in try giveUp(failure.problem, of: file) }
                return false
            case .failure(let failure):
                let isOver = store.clock.now() > job.created.advanced(by: FilePolicy.relayRetention)
                let isFinal = isOver || !failure.isTemporary
                try await blocking.run { [self] in try note(failure.problem, isFinal: isFinal, of: file) }
                return !isFinal
            }
        } catch {
            log.warning("download failed: file=\(file.rawValue) error=\(error.sentence)")
            let problem = FileProblem(error.fileProblemKind, error.sentence)
            await blocking.attempt("store why a download failed") { [self] in
                try note(problem, isFinal: problem.isFinal, of: file)
            }
            return !problem.isFinal && problem.kind != .notApproved
        }
    }

    private func fetch(_ job: Job, _ file: FileID) async -> Result<Void, TransferFailure> {
        do throws(TransferFailure) {
            return .success(
                try await transfers.download(job.order) { [reports] done, total in
                    reports.report(TransferProgress(done: done, total: total), of: file, item: job.item)
                })
        } catch {
            return .failure(error)
        }
    }

    private struct Job {
        var description: String
        /// Partial CryptoFile with its key, which stays the same in all attempts.
        var location: FileSourceLocation
        var item: ChatItem
        var created: Timestamp
        /// Whether the file was requested.
        var isAsked: Bool

        var order: DownloadOrder {
            DownloadOrder(
                source: .description(description), size: item.file?.size,
                destination: location.arguments.map { .cryptoFile($0) } ?? .plain, path: location.path)
        }
    }

    private func begin(_ file: FileID) throws -> Job? {
        guard let description = try relays.description(of: file) else { return nil }
        return try store.commit { change in
            // The file was deleted or withdrawn.
            guard let offer = try change.tables.downloads.offer(file), offer.isDescribed,
                try change.setStatus(.rcvTransfer, of: file, from: StoredFileStatus.downloading),
                let item = try change.tables.items.item(of: file)
            else { return nil }
            try relays.check(description, approvedNow: offer.isApproved, change.tables)
            let arguments = try change.tables.downloads.arguments(
                of: file, orElse: CryptoFile.freshArguments())
            if offer.status != .rcvTransfer { change.tell(.itemChanged(item, .started)) }
            return Job(
                description: description.text,
                location: FileSourceLocation(
                    path: store.folders.incomingPath(of: file), arguments: arguments),
                item: item, created: offer.created, isAsked: offer.wish == .requested)
        }
    }

    /// Stores a CryptoFile as a file's received content and returns its location. Blocks.
    func keep(_ location: FileSourceLocation, of file: FileID) throws -> FileSourceLocation {
        let size = try store.read { try $0.downloads.existingOffer(file).size }
        let name = try store.folders.keep(location, size: size)
        do {
            try store.commit { change in
                try change.tables.downloads.existingOffer(file).refuseWhenOver()
                guard
                    try change.setStatus(
                        .rcvComplete, of: file,
                        from: StoredFileStatus.offered + StoredFileStatus.downloading)
                else { throw ChatError(.invalidCommand, "The file has been received already.") }
                try change.tables.files.setSource(of: file, name, location.arguments)
                try change.tables.downloads.forgetDecline(of: file)
                try change.tell(.completed, of: file)
            }
        } catch {
            store.folders.remove(name)
            throw error
        }
        damaged.remove(of: file)
        unlink(location.path)
        return FileSourceLocation(
            path: store.folders.filesPath + "/" + name, arguments: location.arguments)
    }

    /// Ends an automatic download on a full disk. Removes its partial file and makes it an offer again.
    private func giveUp(_ problem: FileProblem, of file: FileID) throws {
        try store.commit { change in
            guard
                try change.setStatus(
                    .rcvAborted, of: file, from: StoredFileStatus.downloading, problem: problem)
            else { return }
            try change.tell(.updated, of: file)
        }
        unlink(store.folders.incomingPath(of: file))
    }

    /// Records why a download failed or waits.
    private func note(_ problem: FileProblem, isFinal: Bool, of file: FileID) throws {
        let problem = isFinal ? problem.mentioning(damaged.remains(of: file)) : problem
        let status: StoredFileStatus =
            problem.kind == .notApproved ? .rcvAborted : isFinal ? .rcvError : .rcvWarning
        try store.commit { change in
            guard
                try change.setStatus(status, of: file, from: StoredFileStatus.downloading, problem: problem)
            else { return }
            switch status {
            case .rcvError: try change.tell(.failed(problem), of: file)
            case .rcvWarning: try change.tell(.delayed(problem), of: file)
            default: try change.tell(.updated, of: file)
            }
        }
        if isFinal { unlink(store.folders.incomingPath(of: file)) }
    }
}
