import Base
import ChatCore
import CoreServices
import Cryptography
import Glibc
import Posix

/// Durable copies of files on another machine. Each is fetched completely at its first use, once for all
/// readers, and kept until its item is deleted. Any task.
final class RemoteCopies: Sendable {
    private let remote: any RemoteFiles
    private let connection: CoreConnection
    private let index: IndexStore
    private let staging: StagingFolder
    private let user: Int64
    private let phone: OfficialCoreSettings.Phone
    private let fetching = AsyncKeyedMutex<FileID>()

    /// nil for a core whose files are on this machine.
    init?(
        _ remote: (any RemoteFiles)?, _ connection: CoreConnection, _ index: IndexStore,
        _ staging: StagingFolder, user: Int64, _ phone: OfficialCoreSettings.Phone?
    ) {
        guard let remote, let phone else { return nil }
        self.remote = remote
        self.connection = connection
        self.index = index
        self.staging = staging
        self.user = user
        self.phone = phone
    }

    /// Returns the copy of a file, or nil if the core has none.
    /// - Throws: `.file(.unreachable)` if the core does not connect within `awayTimeout`; `.noSuchFile`;
    ///   errors of the core or the disk.
    func copy(
        of file: FileID, in item: ItemID, _ chat: APIChatReference, _ progress: @escaping @Sendable () -> Void
    ) async throws(ChatError) -> FileSourceLocation? {
        try await fetching.withLock(file) { () throws(ChatError) -> FileSourceLocation? in
            // Another reader has fetched it meanwhile.
            if let kept = try await kept(file) { return kept }
            do throws(ChatError) {
                try await connection.waitUntilConnected(timeout: phone.awayTimeout)
                return try await present(file, in: item, chat, progress)
            } catch {
                throw PhoneErrors.forReader(error)
            }
        }
    }

    /// The copy, from the core that is there now.
    private func present(
        _ file: FileID, in item: ItemID, _ chat: APIChatReference, _ progress: @escaping @Sendable () -> Void
    ) async throws(ChatError) -> FileSourceLocation? {
        guard let told = try await connection.knownItem(item, in: chat) else {
            await blocking.attempt("note that a message is gone") { [index] in
                try index.commit { try $0.removeUntold([item]) }
            }
            throw ChatError.noSuchFile
        }
        guard let described = told.file, described.id == file, let source = described.source else {
            // The dropped copy was from the relays and the phone has none, or the message has another file.
            await blocking.attempt("note that the phone has no copy") { [index] in
                _ = try index.commit { try $0.take(told, .described) }
            }
            return nil
        }
        let number = RemoteFile(user: user, file: file.rawValue, isSent: told.direction == .sent)
        return try await fetch(number, of: described, from: source, progress)
    }

    private func kept(_ file: FileID) async throws(ChatError) -> FileSourceLocation? {
        try await index.reading { try $0.keptCopies.source(of: file) }
    }

    private func fetch(
        _ number: RemoteFile, of described: APIFile, from source: APIFileSource,
        _ progress: @escaping @Sendable () -> Void
    ) async throws(ChatError) -> FileSourceLocation {
        // Replaces a file of an earlier process.
        let path = "\(staging.path)/.fetched-\(number.file)"
        let target = try await blocking.run {
            try OpenFile(path, flags: O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
        }
        let arguments: FileArguments
        do throws(OfficialCoreError) {
            arguments = try await remote.fetch(
                number, size: described.size, from: source, into: target, progress: progress)
        } catch {
            await blocking.attempt("remove an incomplete file") { removeFile(path) }
            throw error.chatError
        }
        return try await blocking.run { [index, staging] in
            let fetched = FileSourceLocation(path: path, arguments: arguments)
            let kept = try staging.keep(fetched, as: described.id)
            try index.commit(durably: true) { change in
                try change.tables.keptCopies.put(described.id, at: kept.path, arguments)
                try change.setCopy(kept, of: described.id)
            }
            return kept
        }
    }

    /// Drops a damaged copy; the next reader fetches it again.
    /// - Throws: `.file(.unreachable)` if there was a copy.
    func giveUp(_ file: FileID) async throws(ChatError) {
        guard try await drop(file) else { return }
        throw ChatError(
            .file(.unreachable),
            "The copy of this file was damaged; open it again to fetch it from the phone.")
    }

    /// - Returns: True if there was a copy.
    @discardableResult
    func drop(_ file: FileID) async throws(ChatError) -> Bool {
        let path = try await blocking.run { [index] in
            try index.commit(durably: true) { change -> String? in
                try change.setCopy(nil, of: file)
                return try change.tables.keptCopies.forget(file)
            }
        }
        guard let path else { return false }
        await blocking.attempt("remove a copy") { removeFile(path) }
        return true
    }
}
