import Base
import ChatCore
import CoreServices
import Posix
import Synchronization
import XFTP

/// Uploads the files copied into the folder of links, stores their links, and revokes removed uploads. Each row states
/// the remaining work, so a new process continues after a crash. The core recognises an upload by the path of the
/// stored file.
final class LinkUploads: Sendable {
    private let core: any ChatCore
    private let store: LinkStore
    private let outcomes: LinkOutcomes
    private let transfers = LinkTransfers()
    private let isFollowing = Atomic(false)
    private let work = WorkQueue<Int64>()
    private let tasks = TaskSet()
    private let retry: RetryPolicy

    /// The default lifetime of chunks on official relays.
    static let relayExpiry = Duration.seconds(48 * 3600)

    init(_ core: any ChatCore, _ store: LinkStore, retry: RetryPolicy) {
        self.core = core
        self.store = store
        outcomes = LinkOutcomes(store: store)
        self.retry = retry
        work.begin { [weak self] in await self?.attempt($0) ?? .idle }
    }

    /// Continues the unfinished work of an earlier process. Returns at once.
    func resume() {
        Task {
            let rows = await blocking.attempt("look for unfinished links") { [store] in
                try store.read(or: []) { try $0.rows([.uploading, .removed, .cancelled]) }
            }
            // An upload that was revoked on the relays stays as it is.
            for row in rows ?? [] where row.status != .cancelled || row.hasBegun { start(row.id) }
        }
    }

    /// Stops all work; the rows stay.
    func close() async {
        await tasks.close()
        await work.close()
    }

    /// Performs the work of a row until none is left. Returns at once.
    func start(_ id: Int64) {
        follow()
        work.wake(id)
    }

    private func attempt(_ id: Int64) async -> WorkOutcome {
        do throws(ChatError) {
            return try await step(id) ? .idle : .retry(retry)
        } catch {
            await note(error, of: id)
            return .retry(retry)
        }
    }

    /// Returns true if only the core has work left.
    private func step(_ id: Int64) async throws(ChatError) -> Bool {
        let row = try await blocking.run { [store] in try store.read(or: nil) { try $0.row(id) } }
        guard let row else { return true }
        switch row.status {
        case .uploading: return try await upload(row)
        case .removed, .cancelled: return try await takeBack(row)
        case .uploaded, .failed, .offered, .stored, .lost: return true
        }
    }

    // MARK: - Uploading

    private func upload(_ row: LinkRow) async throws(ChatError) -> Bool {
        if let upload = row.upload, transfers.contains(upload, of: row.id) { return true }
        transfers.begin()
        let file: FileID
        do throws(ChatError) {
            file = try await begin(row)
        } catch {
            transfers.failedToBegin()
            throw error
        }
        let early = transfers.began(file, of: row.id)
        if !early.isEmpty { Task { for event in early { await take(event, of: row.id) } } }
        // It may have ended long ago.
        switch try await core.outcomeOfStandaloneUpload(file) {
        case .link(let link): try await outcomes.complete(row.id, link)
        case .failed(let problem): await outcomes.fail(row.id, problem)
        case nil: break
        }
        // Removed meanwhile, so it must be revoked.
        let now = try await blocking.run { [store] in try store.read(or: nil) { try $0.row(row.id) } }
        return now?.status != .removed && now?.status != .cancelled
    }

    private func begin(_ row: LinkRow) async throws(ChatError) -> FileID {
        guard let source = store.location(of: row) else { throw ChatError(.noSuchFile, "The file is gone.") }
        let expires = store.clock.now().advanced(by: Self.relayExpiry)
        try await note(begun: row.id, nil, expires: row.hasBegun ? nil : expires)
        let file: FileID
        if core.uploadsCryptoFiles {
            file = try await core.uploadStandaloneFile(source, named: row.name)
        } else {
            // No one has the link of an earlier process's upload.
            if let earlier = row.upload { await forget(earlier) }
            let plain = try await blocking.run { [store] in
                try store.folder.makePlain(row.id, named: row.name, of: source)
            }
            file = try await core.uploadStandaloneFile(plain)
        }
        try await note(begun: row.id, file, expires: nil)
        return file
    }

    private func note(begun id: Int64, _ file: FileID?, expires: Timestamp?) async throws(ChatError) {
        try await blocking.run { [store] in
            try store.commit { try $0.table.noteBegun(id, upload: file, expires: expires) }
        }
    }

    private func forget(_ file: FileID) async {
        do throws(ChatError) {
            try await core.cancelStandaloneFile(file)
        } catch {
            log.information("upload of an earlier process not revoked: error=\(error.sentence)")
        }
    }

    /// It is retried.
    private func note(_ error: ChatError, of id: Int64) async {
        log.information("upload for a link waits: error=\(error.sentence)")
        await outcomes.warn(id, FileProblem(error.fileProblemKind, error.sentence))
    }

    // MARK: - Revoking

    /// The core deletes the chunks on relays, and remembers to do so.
    private func takeBack(_ row: LinkRow) async throws(ChatError) -> Bool {
        var upload = row.upload
        if row.hasBegun, upload == nil, core.uploadsCryptoFiles, let source = store.location(of: row) {
            // The process died before it noted the number.
            upload = try await core.uploadStandaloneFile(source, named: row.name)
        }
        if let upload {
            do throws(ChatError) {
                try await core.cancelStandaloneFile(upload)
            } catch {
                guard error.code == .noSuchFile || error.code == .invalidCommand else { throw error }
            }
            transfers.remove(upload)
        }
        try await outcomes.takenBack(row)
        return true
    }

    // MARK: - Events of the core

    private func follow() {
        guard !isFollowing.load(ordering: .relaxed) else { return }
        // Subscribed before the first transfer, so that no event is missed. One of two concurrent subscriptions ends.
        let events = core.events()
        guard !isFollowing.exchange(true, ordering: .relaxed) else { return }
        tasks.spawn { [weak self] in
            for await event in events {
                guard let self else { return }
                if let id = self.transfers.row(of: event) { await self.take(event, of: id) }
            }
        }
    }

    private func take(_ event: ChatEvent, of id: Int64) async {
        switch event {
        case .standaloneFileProgress(_, let done, let total): await outcomes.tellProgress(id, done, total)
        case .standaloneFileWarning(_, let problem): await outcomes.warn(id, problem)
        case .sndStandaloneFileError(_, let problem): await outcomes.fail(id, problem)
        case .sndStandaloneFileComplete(_, let links):
            do throws(ChatError) {
                guard let link = links.first else {
                    throw ChatError(.internalError, "The core returned no link to the file.")
                }
                try await outcomes.complete(id, link)
            } catch {
                await note(error, of: id)
                if let link = links.first { retryCompletion(id, link) }
            }
        default: break
        }
    }

    /// Retried until it is stored, for example after a full disk.
    private func retryCompletion(_ id: Int64, _ link: String) {
        tasks.spawn { [weak self, retry] in
            var tries = 2
            while await retry.wait(beforeTry: tries), let self {
                tries += 1
                do throws(ChatError) {
                    return try await outcomes.complete(id, link)
                } catch {
                    log.information("link not stored, retrying: error=\(error.sentence)")
                }
            }
        }
    }
}
