import Base
import ChatCore
import CoreServices
import Cryptography
import Glibc
import Posix
import XFTP

/// Standalone files, uploaded for a link or downloaded from one.
final class StandaloneFiles: Sendable {
    private let store: ProfileStore
    private let scheduler: TransferScheduler
    private let transfers: any FileTransfers
    private let uploads: Uploads
    private let reports: ProgressReports

    init(
        _ store: ProfileStore, _ scheduler: TransferScheduler, _ transfers: any FileTransfers,
        _ uploads: Uploads
    ) {
        self.store = store
        self.scheduler = scheduler
        self.transfers = transfers
        self.uploads = uploads
        reports = ProgressReports(scheduler: scheduler, events: store.events)
    }

    func upload(_ path: String) async throws(ChatError) -> FileID {
        let file = try await blocking.run { [self] in
            guard let opened = try OpenFile.regular(path) else { throw Self.notRegular }
            let size = try opened.size()
            try uploads.requireRelay()
            return try insert(path: path, size: size, link: nil)
        }
        uploads.start(file)
        return file
    }

    /// Uploads a CryptoFile. Repeating a path returns the existing upload.
    func upload(_ source: FileSourceLocation, named name: String) async throws(ChatError) -> FileID {
        let file = try await blocking.run { [self] in
            guard let arguments = source.arguments else {
                throw ChatError(.invalidCommand, "The file to upload is not encrypted.")
            }
            guard let opened = try OpenFile.regular(source.path, flags: O_NOFOLLOW) else {
                throw Self.notRegular
            }
            let size = try CryptoFileReader(file: opened, arguments: arguments).size
            try uploads.requireRelay()
            let now = store.clock.now()
            return try store.commit { change in
                try change.tables.uploads.standaloneUpload(of: source.path)
                    ?? change.tables.uploads.insertStandalone(
                        path: source.path, name: name, size: size, arguments: arguments, link: nil,
                        created: now, expires: now.advanced(by: FilePolicy.relayRetention))
            }
        }
        uploads.start(file)
        return file
    }

    private static let notRegular = ChatError(.invalidCommand, "Only a regular file can be uploaded.")

    func outcome(of file: FileID) async throws(ChatError) -> StandaloneOutcome? {
        try await store.reading { try $0.uploads.standaloneOutcome(file) }
    }

    func download(_ link: String, to path: String) async throws(ChatError) -> FileID {
        let parsed = try await FileLink.parsed(link)
        let file = try await blocking.run { [self] in
            var status = stat()
            guard lstat(path, &status) != 0 else {
                throw ChatError(.invalidCommand, "There is something under that name already.")
            }
            return try insert(path: path, size: parsed.fileDescription.size, link: link)
        }
        startDownload(file)
        return file
    }

    private func insert(path: String, size: UInt64, link: String?) throws -> FileID {
        let now = store.clock.now()
        return try store.commit { change in
            try change.tables.uploads.insertStandalone(
                path: path, size: size, link: link, created: now,
                expires: now.advanced(by: FilePolicy.relayRetention))
        }
    }

    /// Starts or resumes a download. Returns at once.
    func startDownload(_ file: FileID) {
        scheduler.start(file, in: .download) { [weak self] in await self?.download(file) ?? false }
    }

    /// Makes one attempt. Returns whether to retry.
    private func download(_ file: FileID) async -> Bool {
        let found = await blocking.attempt("read a standalone download") { [store] in
            try store.read { try $0.uploads.standaloneDownload(file) }
        }
        guard let job = found ?? nil else { return false }
        do throws(TransferFailure) {
            try await transfers.download(job.order) { [reports] done, total in
                reports.report(TransferProgress(done: done, total: total), of: file, item: nil)
            }
            await end(file, .rcvStandaloneFileComplete(file, path: job.path))
            return false
        } catch {
            if Task.isCancelled { return false }
            let isOver = store.clock.now() > job.created.advanced(by: FilePolicy.relayRetention)
            if error.isTemporary && !isOver {
                store.events.tell(.standaloneFileWarning(file, error.problem))
                return true
            }
            await transfers.discard(job.order)
            await end(file, .rcvStandaloneFileError(file, error.problem))
            return false
        }
    }

    /// Cancels a transfer and removes its chunks or partial file.
    /// - Throws: `.noSuchFile`, also for the file of a message.
    func cancel(_ file: FileID, by removals: Removals) async throws(ChatError) {
        let job = try await store.reading { tables in
            guard try tables.files.cancellable(file)?.isStandalone == true else {
                throw ChatError.noSuchFile
            }
            return try tables.uploads.standaloneDownload(file)
        }
        try await removals.cancel(file, isAwaited: true)
        if let job { await transfers.discard(job.order) }
    }

    /// Deletes an ended download's row and publishes its last event.
    private func end(_ file: FileID, _ event: ChatEvent) async {
        await blocking.attempt("remove an ended download") { [store] in
            try store.commit { change in
                try change.tables.files.remove(file)
                change.tell(event)
            }
        }
    }
}

extension UploadTable.StandaloneDownload {
    fileprivate var order: DownloadOrder {
        DownloadOrder(source: .link(link), destination: .plain, path: path)
    }
}
