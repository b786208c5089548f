import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import Store
import XFTP

/// Files that the core itself fetches, from the first chunk to the CryptoFile in its folder.
extension EmbeddedCore {
    func startDownload(_ file: FileID) {
        desk.start(file, in: .download) { [weak self] in await self?.download(file) ?? false }
    }

    /// One try. True when another is worth it.
    private func download(_ file: FileID) async -> Bool {
        do throws(ChatError) {
            guard let job = try await work({ [self] in try beginDownload(file) }) else { return false }
            switch await fetch(job, file) {
            case .success:
                _ = try await work { [self] in try store(job.location, of: file) }
                return false
            case .failure where Task.isCancelled:
                return false
            case .failure(let failure):
                let isOver = directory.clock.now() > job.created.advanced(by: Self.relayExpiry)
                let isFinal = isOver || !failure.isTemporary
                try await work { [self] in try note(failure.problem, isFinal: isFinal, of: file) }
                return !isFinal
            }
        } catch {
            log.warning("A file could not be received: \(error.sentence)")
            let kind: FileProblem.Kind = if case .file(let kind) = error.code { kind } else { .other }
            let problem = FileProblem(kind, error.sentence)
            await attempt("note why a file was not received") { [self] in
                try note(problem, isFinal: problem.isFinal, of: file)
            }
            return !problem.isFinal && kind != .notApproved
        }
    }

    private func fetch(
        _ job: DownloadJob, _ file: FileID
    ) async -> Result<Void, TransferFailure> {
        do throws(TransferFailure) {
            return .success(
                try await transfers.download(job.order) { [self] done, total in
                    tellProgress(of: file, TransferProgress(done: done, total: total), item: job.item)
                })
        } catch {
            return .failure(error)
        }
    }

    private struct DownloadJob {
        var description: String
        /// Where the CryptoFile grows, with the key that it has from the first attempt on.
        var location: FileSourceLocation
        var item: ChatItem
        var created: Timestamp

        var order: DownloadOrder {
            DownloadOrder(
                source: .description(description),
                destination: location.arguments.map { .cryptoFile($0) } ?? .plain, path: location.path)
        }
    }

    private func beginDownload(_ file: FileID) throws -> DownloadJob? {
        guard let text = try descriptionText(of: file) else { return nil }
        let description = parsed(text)
        return try commit { change in
            // Deleted, or not offered any more.
            guard let offer = try? offer(file, change.connection), offer.isDescribed,
                try change.setStatus(
                    "rcv_transfer", ofFile: file.rawValue,
                    from: ["rcv_accepted", "rcv_transfer", "rcv_warning"]),
                let item = try change.item(ofFile: file.rawValue)
            else { return nil }
            try check(description, approvedNow: offer.approved, change.connection)
            let fresh = CryptoFile.freshArguments()
            try change.connection.execute(
                "UPDATE file SET key = ?, nonce = ? WHERE id = ? AND key IS NULL",
                fresh.key, fresh.nonce, file.rawValue)
            let arguments = try change.connection.first(
                "SELECT key, nonce FROM file WHERE id = ?", file.rawValue
            ) { FileArguments(key: $0.bytes(0), nonce: $0.bytes(1)) }
            if offer.status == "rcv_accepted" { change.tell(.rcvFileStart(item)) }
            return DownloadJob(
                description: text,
                location: FileSourceLocation(
                    path: folders.incomingPath(of: file), arguments: arguments),
                item: item, created: offer.created)
        }
    }

    /// Makes a CryptoFile the received content of a file. Returns where it lies now.
    func store(_ location: FileSourceLocation, of file: FileID) throws -> FileSourceLocation {
        let size = try read { try offer(file, $0.connection).size }
        let name = try folders.keep(location, size: size)
        do {
            try commit { change in
                try refuseDeadEnd(try offer(file, change.connection))
                guard
                    try change.setStatus(
                        "rcv_complete", ofFile: file.rawValue,
                        from: [
                            "rcv_invitation", "rcv_accepted", "rcv_transfer", "rcv_warning", "rcv_aborted",
                        ])
                else { throw ChatError(.invalidCommand, "The file has been received already.") }
                try change.connection.execute(
                    "UPDATE file SET stored_name = ?, key = ?, nonce = ? WHERE id = ?",
                    name, location.arguments?.key, location.arguments?.nonce, file.rawValue)
                try change.tell({ .rcvFileComplete($0) }, ofFile: file.rawValue)
            }
        } catch {
            folders.remove(name)
            throw error
        }
        damaged.remove(of: file)
        unlink(location.path)
        return FileSourceLocation(path: folders.filesPath + "/" + name, arguments: location.arguments)
    }

    /// Notes why a download ended or waits.
    private func note(_ problem: FileProblem, isFinal: Bool, of file: FileID) throws {
        let running = ["rcv_accepted", "rcv_transfer", "rcv_warning"]
        let problem = isFinal ? problem.mentioning(damaged.remains(of: file)) : problem
        try commit { change in
            let status = problem.kind == .notApproved ? "rcv_aborted" : isFinal ? "rcv_error" : "rcv_warning"
            guard try change.setStatus(status, ofFile: file.rawValue, from: running, problem: problem) else {
                return
            }
            switch status {
            case "rcv_error": try change.tell({ .rcvFileError($0, problem) }, ofFile: file.rawValue)
            case "rcv_warning": try change.tell({ .rcvFileWarning($0, problem) }, ofFile: file.rawValue)
            default: try change.tell({ .chatItemUpdated($0) }, ofFile: file.rawValue)
            }
        }
        if isFinal { unlink(folders.incomingPath(of: file)) }
    }

    func tellProgress(of file: FileID, _ progress: TransferProgress, item: ChatItem) {
        guard desk.note(progress, of: file) else { return }
        var item = item
        if item.direction == .sent {
            item.file?.status = .sndTransfer(sent: progress.done, total: progress.total)
            hub.tell(.sndFileProgressXFTP(item, sent: progress.done, total: progress.total))
        } else {
            item.file?.status = .rcvTransfer(received: progress.done, total: progress.total)
            hub.tell(.rcvFileProgressXFTP(item, received: progress.done, total: progress.total))
        }
    }
}
