import Base
import ChatCore
import CoreServices
import Posix
import XFTP

/// Has the core upload what was copied into the folder of links, follows it to its link, and has taken back what is
/// removed. A row says at every moment what is to be done, so a process that dies goes on where it was: the core is
/// asked by the path of the stored file, which is the mark by which it knows the upload again.
final class LinkUploads: Sendable {
    private struct State {
        /// Rows that a task works on.
        var underWay: [Int64: Task<Void, Never>] = [:]
        /// Of those: what their rows say may have changed since.
        var changed: Set<Int64> = []
        /// Transfers of the core that are ours.
        var files: [FileID: Int64] = [:]
        /// Transfers that are being begun: what is told of one whose number is not known yet is kept.
        var beginning = 0
        var early: [ChatEvent] = []
        var following: Task<Void, Never>?
        var isClosed = false
    }

    private let core: any ChatCore
    private let store: LinkStore
    private let state = Lock(State())
    private let retry: RetryPolicy

    /// Chunks of today's relays live that long (default of the official one).
    static let relayExpiry = Duration.seconds(48 * 3600)

    init(_ core: any ChatCore, _ store: LinkStore, retry: RetryPolicy) {
        self.core = core
        self.store = store
        self.retry = retry
    }

    /// Goes on with what an earlier process did not finish. Returns at once.
    func resume() {
        Task {
            let rows = await blocking.attempt("look for unfinished links") { [store] in
                try store.read(or: []) { try $0.rows([.uploading, .removed, .cancelled]) }
            }
            // One that was taken back at the relays too is as it stays.
            for row in rows ?? [] where row.status != .cancelled || row.hasBegun { start(row.id) }
        }
    }

    /// Ends all that goes on here; the rows stay.
    func close() async {
        let (tasks, following) = state.withLock { state in
            state.isClosed = true
            return (Array(state.underWay.values), state.following)
        }
        for task in tasks { task.cancel() }
        following?.cancel()
        for task in tasks { await task.value }
        await following?.value
    }

    /// Does what a row says, until nothing is left to do. Returns at once.
    func start(_ id: Int64) {
        follow()
        state.withLock { state in
            guard !state.isClosed else { return }
            guard state.underWay[id] == nil else {
                state.changed.insert(id)
                return
            }
            state.underWay[id] = Task { [weak self] in
                repeat { await self?.run(id) } while self?.end(id) == false
            }
        }
    }

    /// False when there is more to do.
    private func end(_ id: Int64) -> Bool {
        state.withLock { state in
            if state.changed.remove(id) != nil, !state.isClosed { return false }
            state.underWay[id] = nil
            return true
        }
    }

    private func run(_ id: Int64) async {
        var tries = 1
        while !Task.isCancelled {
            do throws(ChatError) {
                if try await step(id) { return }
            } catch {
                await note(error, of: id)
            }
            tries += 1
            guard let delay = retry.delay(beforeTry: tries) else { return }
            try? await Task.sleep(for: delay)
        }
    }

    /// One try. True when nothing is left to do but to wait for the core.
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
        if let upload = row.upload, state.withLock({ $0.files[upload] == row.id }) { return true }
        state.withLock { $0.beginning += 1 }
        let file: FileID
        do throws(ChatError) {
            file = try await begin(row)
        } catch {
            register(nil, of: row.id)
            throw error
        }
        register(file, of: row.id)
        // It may have ended long ago.
        switch try await core.outcomeOfStandaloneUpload(file) {
        case .link(let link): try await complete(row.id, link)
        case .failed(let problem): await fail(row.id, problem)
        case nil: break
        }
        // Removed meanwhile: then it is to be taken back.
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
            // What this core has of an earlier process has told its link to nobody.
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
            log.information("an earlier upload for a link was not taken back: \(error.sentence)")
        }
    }

    /// - Parameter file: nil where it could not be begun.
    private func register(_ file: FileID?, of id: Int64) {
        let early = state.withLock { state in
            if let file { state.files[file] = id }
            let early = state.early.filter { $0.standaloneFile == file && file != nil }
            state.beginning -= 1
            if state.beginning == 0 { state.early = [] }
            return early
        }
        if !early.isEmpty { Task { for event in early { await take(event, of: id) } } }
    }

    private func complete(_ id: Int64, _ link: String) async throws(ChatError) {
        let row = try await blocking.run { [store] in try store.read(or: nil) { try $0.row(id) } }
        guard let row, row.status == .uploading else { return }
        var described = try await Self.parsed(link)
        described.data = LinkFacts(name: row.name, size: row.size, expires: row.expires).text
        let text = described.text
        try await blocking.run { [store] in
            let content = LinkShortcut.content(text)
            let shortcut = try store.folder.write(content)
            let isKept = try store.commit { change in
                guard try change.table.setStatus(.uploaded, of: id, from: [.uploading]) else { return false }
                try change.table.setLink(text, of: id)
                let number = try change.table.insertShortcut(
                    of: id, name: LinkShortcut.name(for: row.name), size: UInt64(content.count),
                    storedName: shortcut.name, shortcut.arguments, created: store.clock.now())
                try change.tell({ .sndFileCompleteXFTP($0) }, of: id)
                try change.tell({ .newChatItems([$0]) }, of: number)
                return true
            }
            if !isKept { store.folder.remove(shortcut.name) }
            store.folder.removePlain(id)
            store.setProgress(id, nil)
        }
    }

    private static func parsed(_ link: String) async throws(ChatError) -> FileLink {
        do throws(XFTPError) {
            return try await FileLink.parse(link)
        } catch {
            throw ChatError(.internalError, "The core gave a link that makes no sense.", cause: error)
        }
    }

    private func fail(_ id: Int64, _ problem: FileProblem) async {
        await blocking.attempt("note why there is no link") { [store] in
            try store.commit { change in
                guard try change.table.setStatus(.failed, of: id, from: [.uploading], problem: problem)
                else { return }
                try change.tell({ .sndFileError($0, problem) }, of: id)
            }
            store.folder.removePlain(id)
            store.setProgress(id, nil)
        }
    }

    private func warn(_ id: Int64, _ problem: FileProblem) async {
        await blocking.attempt("note why a link waits") { [store] in
            try store.commit { change in
                guard try change.table.setStatus(.uploading, of: id, from: [.uploading], problem: problem)
                else { return }
                try change.tell({ .sndFileWarning($0, problem) }, of: id)
            }
        }
    }

    /// It is tried again.
    private func note(_ error: ChatError, of id: Int64) async {
        log.information("a link waits: \(error.sentence)")
        await warn(id, FileProblem(error.fileProblemKind, error.sentence))
    }

    // MARK: - Taking back

    /// The core deletes what is on relays, and remembers that by itself from then on.
    private func takeBack(_ row: LinkRow) async throws(ChatError) -> Bool {
        var upload = row.upload
        if row.hasBegun, upload == nil, core.uploadsCryptoFiles, let source = store.location(of: row) {
            // The process died before its number was noted.
            upload = try await core.uploadStandaloneFile(source, named: row.name)
        }
        if let upload {
            do throws(ChatError) {
                try await core.cancelStandaloneFile(upload)
            } catch {
                guard error.code == .noSuchFile || error.code == .invalidCommand else { throw error }
            }
            state.withLock { _ = $0.files.removeValue(forKey: upload) }
        }
        try await blocking.run { [store] in
            try store.commit { change in
                if row.status == .removed {
                    change.abandon(row.storedName)
                    try change.table.remove(row.id)
                } else {
                    try change.table.noteEnded(row.id)
                    try change.tell({ .chatItemUpdated($0) }, of: row.id)
                }
            }
            store.folder.removePlain(row.id)
            store.setProgress(row.id, nil)
        }
        return true
    }

    // MARK: - What the core tells

    private func follow() {
        state.withLock { state in
            guard state.following == nil, !state.isClosed else { return }
            // Before the first transfer is begun, so that nothing of it is missed.
            let events = core.events()
            state.following = Task { [weak self] in
                for await event in events {
                    guard let file = event.standaloneFile else { continue }
                    await self?.take(event, of: file)
                }
            }
        }
    }

    private func take(_ event: ChatEvent, of file: FileID) async {
        let id = state.withLock { state -> Int64? in
            if let id = state.files[file] { return id }
            if state.beginning > 0 { state.early.append(event) }
            return nil
        }
        if let id { await take(event, of: id) }
    }

    private func take(_ event: ChatEvent, of id: Int64) async {
        switch event {
        case .standaloneFileProgress(_, let done, let total): await tellProgress(id, done, total)
        case .standaloneFileWarning(_, let problem): await warn(id, problem)
        case .sndStandaloneFileError(_, let problem): await fail(id, problem)
        case .sndStandaloneFileComplete(_, let links):
            do throws(ChatError) {
                guard let link = links.first else {
                    throw ChatError(.internalError, "The core gave no link to the file.")
                }
                try await complete(id, link)
            } catch {
                await note(error, of: id)
                if let link = links.first { retryCompletion(id, link) }
            }
        default: break
        }
    }

    /// The disk was full, say: the link is tried to be kept until it is.
    private func retryCompletion(_ id: Int64, _ link: String) {
        Task { [weak self, retry] in
            var tries = 1
            while let self, !self.state.withLock(\.isClosed), let delay = retry.delay(beforeTry: tries + 1) {
                tries += 1
                try? await Task.sleep(for: delay)
                do throws(ChatError) {
                    return try await complete(id, link)
                } catch {
                    log.information("a link could not be kept: \(error.sentence)")
                }
            }
        }
    }

    private func tellProgress(_ id: Int64, _ done: UInt64, _ total: UInt64) async {
        store.setProgress(id, (done, total))
        await blocking.attempt("tell how far a link is") { [store] in
            guard let row = try store.read(or: nil, { try $0.row(id) }), row.status == .uploading else {
                return
            }
            if row.problem != nil {
                // It goes on: what was wrong is over.
                try store.commit { _ = try $0.table.setStatus(.uploading, of: id, from: [.uploading]) }
            }
            var now = row
            now.problem = nil
            store.events.tell(.sndFileProgressXFTP(store.item(now), sent: done, total: total))
        }
    }
}

extension ChatEvent {
    /// Of a transfer without a chat that is uploaded.
    fileprivate var standaloneFile: FileID? {
        switch self {
        case .standaloneFileProgress(let file, _, _), .standaloneFileWarning(let file, _),
            .sndStandaloneFileComplete(let file, _), .sndStandaloneFileError(let file, _):
            file
        default: nil
        }
    }
}
