import Base
import ChatCore
import Posix
import Store

/// Sending what does not fit into a message.
extension EmbeddedCore {
    /// An upload that could not be finished in this time is given up, as the SimpleX agent does.
    static let uploadPatience = Duration.seconds(24 * 3600)
    private static let unfinished = ["snd_stored", "snd_transfer", "snd_warning"]

    public func expectToSend(_ size: UInt64) {
        guard size > FilePolicy.inlineLimit else { return }
        ThreadPool.shared.submit { [self] in
            // A hint: the upload itself asks again, and fails aloud.
            if let relays = try? directory.relays(of: profile) { transfers.expectUpload(to: relays) }
        }
    }

    func startUpload(_ file: FileID) {
        desk.start(file, in: .upload) { [weak self] in await self?.upload(file) ?? false }
    }

    private struct UploadJob {
        var order: UploadOrder
        /// nil for a file that belongs to no chat.
        var item: ChatItem?
        var created: Timestamp
    }

    /// One try. True when another is worth it.
    private func upload(_ file: FileID) async -> Bool {
        do throws(ChatError) {
            guard let job = try await work({ [self] in try beginUpload(file) }) else { return false }
            switch await run(job, file) {
            case .success(let (result, link)):
                let isKept = try await work { [self] in try complete(file, result, link: link) }
                if !isKept { startChunkDeletions() }
                return false
            // Cancelled or shutting down: whoever did it has seen to the row.
            case .failure where Task.isCancelled:
                return false
            case .failure(let failure):
                let isOver = directory.clock.now() > job.created.advanced(by: Self.uploadPatience)
                let isFinal = isOver || !failure.isTemporary
                try await work { [self] in try note(failure.problem, isFinal: isFinal, ofUpload: file) }
                return !isFinal
            }
        } catch {
            log.warning("A file could not be sent: \(error.sentence)")
            return true
        }
    }

    private func run(
        _ job: UploadJob, _ file: FileID
    ) async -> Result<(UploadResult, link: UploadedLink?), TransferFailure> {
        do throws(TransferFailure) {
            let result = try await transfers.upload(job.order) { [self] state in
                try keep(state, of: file)
            } progress: { [self] done, total in
                let progress = TransferProgress(done: done, total: total)
                if let item = job.item {
                    tellProgress(of: file, progress, item: item)
                } else {
                    _ = desk.note(progress, of: file)
                }
            }
            guard job.item == nil, let description = result.recipientDescriptions.first else {
                return .success((result, nil))
            }
            return .success((result, try await transfers.link(to: description, relays: job.order.relays)))
        } catch {
            return .failure(error)
        }
    }

    private func beginUpload(_ file: FileID) throws -> UploadJob? {
        try commit { change in
            let wasStarted = try change.connection.exists(
                "SELECT 1 FROM file WHERE id = ? AND status = 'snd_transfer'", file.rawValue)
            guard
                try change.setStatus("snd_transfer", ofFile: file.rawValue, from: Self.unfinished)
            else { return nil }
            let item = try change.item(ofFile: file.rawValue)
            if let item, !wasStarted { change.tell(.sndFileStart(item)) }
            let relays = try directory.relays(of: profile, change.connection)
            return try change.connection.first(
                """
                SELECT name, recipients, upload_state, created, stored_name, key, nonce, plain_path
                FROM file WHERE id = ?
                """, file.rawValue
            ) { row in
                let source: UploadOrder.Source =
                    if let path = row.textOrNil(7) {
                        .plain(path: path)
                    } else {
                        .cryptoFile(
                            path: folders.filesPath + "/" + row.text(4),
                            arguments: FileArguments(key: row.bytes(5), nonce: row.bytes(6)))
                    }
                return UploadJob(
                    order: UploadOrder(
                        source: source, fileName: row.text(0), recipients: Int(row.integer(1)),
                        relays: relays, state: row.bytesOrNil(2)),
                    item: item, created: row.timestamp(3))
            }
        }
    }

    /// Keeps the state of a running upload: in its row, or, when that was cancelled or deleted
    /// meanwhile, among the chunks to delete.
    private func keep(_ state: [UInt8], of file: FileID) throws {
        try commit { change in
            let kept = try change.connection.execute(
                "UPDATE file SET upload_state = ? WHERE id = ? AND status = 'snd_transfer'",
                state, file.rawValue)
            if kept == 0 {
                try scheduleChunkDeletion(
                    of: file.rawValue, UploadRemains(senderDescription: nil, state: state), change.connection)
            }
        }
    }

    /// The end of an upload, for sender and recipients at once. False when it was cancelled in the
    /// last moment: its chunks are to be deleted then.
    private func complete(_ file: FileID, _ result: UploadResult, link: UploadedLink?) throws -> Bool {
        try commit { change in
            guard try change.setStatus("snd_complete", ofFile: file.rawValue, from: Self.unfinished) else {
                try scheduleChunkDeletion(
                    of: file.rawValue,
                    UploadRemains(
                        senderDescription: result.senderDescription, state: nil,
                        linkDescription: link?.senderDescription),
                    change.connection)
                return false
            }
            try change.connection.execute(
                """
                UPDATE file SET sender_description = ?, upload_state = NULL, link = ?, link_description = ?
                WHERE id = ?
                """, result.senderDescription, link?.text, link?.senderDescription, file.rawValue)
            if let link { change.tell(.sndStandaloneFileComplete(file, links: [link.text])) }
            for received in try receivedCopies(of: file, change.connection)
            where result.recipientDescriptions.indices.contains(received.number) {
                try change.connection.execute(
                    "UPDATE file SET description = ? WHERE id = ?",
                    result.recipientDescriptions[received.number], received.file)
                try change.post(
                    .described(item: received.item, chat: received.chat), to: received.profile)
            }
            try change.tell({ .sndFileCompleteXFTP($0) }, ofFile: file.rawValue)
            return true
        }
    }

    struct ReceivedCopy {
        var file: Int64
        var number: Int
        var item: Int64
        var profile: Int64
        var chat: Int64
        var storedName: String?
    }

    /// The recipients' rows of a sent file.
    func receivedCopies(of file: FileID, _ connection: Connection) throws -> [ReceivedCopy] {
        try connection.query(
            """
            SELECT f.id, f.recipient, i.id, i.profile, i.chat, f.stored_name FROM item i
            JOIN file f ON f.item = i.id WHERE i.origin = (SELECT item FROM file WHERE id = ?)
            """, file.rawValue
        ) { row in
            ReceivedCopy(
                file: row.integer(0), number: Int(row.integer(1)), item: row.integer(2),
                profile: row.integer(3), chat: row.integer(4), storedName: row.textOrNil(5))
        }
    }

    private func note(_ problem: FileProblem, isFinal: Bool, ofUpload file: FileID) throws {
        try commit { change in
            let status = isFinal ? "snd_error" : "snd_warning"
            guard
                try change.setStatus(status, ofFile: file.rawValue, from: Self.unfinished, problem: problem)
            else { return }
            if isFinal { try abandonUpload(file, change) }
            guard let item = try change.item(ofFile: file.rawValue) else {
                if isFinal { change.tell(.sndStandaloneFileError(file, problem)) }
                return
            }
            change.tell(isFinal ? .sndFileError(item, problem) : .sndFileWarning(item, problem))
        }
        if isFinal { startChunkDeletions() }
    }

    /// Moves what an upload left on relays among the chunks to delete.
    func abandonUpload(_ file: FileID, _ change: Change) throws {
        let remains = try change.connection.first(
            "SELECT sender_description, upload_state, link_description FROM file WHERE id = ?", file.rawValue
        ) {
            UploadRemains(
                senderDescription: $0.textOrNil(0), state: $0.bytesOrNil(1), linkDescription: $0.textOrNil(2))
        }
        guard let remains, remains.senderDescription != nil || remains.state != nil else { return }
        try scheduleChunkDeletion(of: file.rawValue, remains, change.connection)
        try change.connection.execute(
            """
            UPDATE file SET sender_description = NULL, upload_state = NULL, link_description = NULL
            WHERE id = ?
            """, file.rawValue)
    }
}
