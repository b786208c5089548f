import Base
import ChatCore
import Glibc
import Posix
import Store
import XFTP

/// Files that belong to no chat: uploaded for a link, downloaded from one.
extension EmbeddedCore {
    public func uploadStandaloneFile(_ path: String) async throws(ChatError) -> FileID {
        let file = try await work { [self] in
            let status = try OpenFile(path, flags: O_RDONLY).status()
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw ChatError(.invalidCommand, "Only a regular file can be uploaded.")
            }
            guard try !directory.relays(of: profile).isEmpty else { throw Self.noRelay }
            return try insertStandalone(
                path: path, size: UInt64(status.st_size), status: "snd_stored", link: nil)
        }
        startUpload(file)
        return file
    }

    public func downloadStandaloneFile(_ link: String, to path: String) async throws(ChatError) -> FileID {
        let parsed = try await Self.parse(link)
        let file = try await work { [self] in
            var status = stat()
            guard lstat(path, &status) != 0 else {
                throw ChatError(.invalidCommand, "There is something under that name already.")
            }
            return try insertStandalone(
                path: path, size: parsed.fileDescription.size, status: "rcv_accepted", link: link)
        }
        startStandaloneDownload(file)
        return file
    }

    public func standaloneFileInfo(_ link: String) async throws(ChatError) -> StandaloneFile {
        let description = try await Self.parse(link).fileDescription
        return StandaloneFile(
            encryptedSize: description.redirect?.size ?? description.size,
            relays: description.relays.map(\.text))
    }

    private static func parse(_ link: String) async throws(ChatError) -> FileLink {
        do throws(XFTPError) {
            return try await FileLink.parse(link)
        } catch {
            throw ChatError(.file(.damaged), error.sentence, cause: error)
        }
    }

    private func insertStandalone(
        path: String, size: UInt64, status: String, link: String?
    ) throws -> FileID {
        let name = path.split(separator: "/").last.map(String.init) ?? "file"
        return try commit { change in
            let now = directory.clock.now()
            try change.connection.execute(
                """
                INSERT INTO file (profile, name, size, transport, status, created, expires, recipients,
                    plain_path, link) VALUES (?, ?, ?, 'xftp', ?, ?, ?, 1, ?, ?)
                """,
                profile.id, name, size, status, now, now.advanced(by: Self.relayExpiry), path, link)
            return FileID(change.connection.lastInsertedID)
        }
    }

    func startStandaloneDownload(_ file: FileID) {
        desk.start(file, in: .download) { [weak self] in await self?.downloadStandalone(file) ?? false }
    }

    /// One try. True when another is worth it.
    private func downloadStandalone(_ file: FileID) async -> Bool {
        let job = await attempt("find a download") { [self] in
            try read { context in
                try context.connection.first(
                    "SELECT plain_path, link, created FROM file WHERE id = ? AND status = 'rcv_accepted'",
                    file.rawValue
                ) { (path: $0.text(0), link: $0.text(1), created: $0.timestamp(2)) }
            }
        }
        guard let job = job ?? nil else { return false }
        let order = DownloadOrder(source: .link(job.link), destination: .plain, path: job.path)
        do throws(TransferFailure) {
            try await transfers.download(order) { [desk] done, total in
                _ = desk.note(TransferProgress(done: done, total: total), of: file)
            }
            await endStandalone(file, .rcvStandaloneFileComplete(file, path: job.path))
            return false
        } catch {
            if Task.isCancelled { return false }
            let isOver = directory.clock.now() > job.created.advanced(by: Self.relayExpiry)
            if error.isTemporary && !isOver { return true }
            await endStandalone(file, .rcvStandaloneFileError(file, error.problem))
            return false
        }
    }

    /// The row of a download is needed no longer.
    private func endStandalone(_ file: FileID, _ event: ChatEvent) async {
        await attempt("forget a download that has ended") { [self] in
            try commit { change in
                try change.connection.execute("DELETE FROM file WHERE id = ?", file.rawValue)
                change.tell(event)
            }
        }
    }
}
