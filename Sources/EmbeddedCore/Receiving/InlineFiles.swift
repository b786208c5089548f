import Base
import ChatCore
import CoreServices
import Synchronization

/// Small files that arrive inside or after their messages (`InlineTransferTable`). Moves their content from
/// rows into CryptoFiles. Content that does not fit on the disk stays in its row until the next arrival. All
/// calls block.
final class InlineFiles: Sendable {
    private let store: ProfileStore
    /// Whether content was moved since the journal was last emptied.
    private let isInJournal = Atomic(false)

    /// Maximum number of files per fsync.
    private static let batch = 64

    init(_ store: ProfileStore) { self.store = store }

    /// Stores all arrived files.
    /// - Parameter telling: whether listeners exist that need events.
    func storeAll(telling: Bool) throws {
        let files = try store.read { try $0.inlineContents.files() }
        for start in stride(from: 0, to: files.count, by: Self.batch) {
            let group = files[start..<min(start + Self.batch, files.count)]
            // Retry one by one after a common failure, so that each reports its own.
            let left = (try? storeTogether(group, telling: telling)) ?? Array(group)
            for file in left {
                do {
                    try takeIn(file, telling: telling)
                } catch {
                    let failure = ChatError(wrapping: error)
                    log.warning(
                        "inline file not stored, retrying: file=\(file.rawValue) error=\(failure.sentence)")
                    do {
                        try warn(file, failure, telling: telling)
                    } catch {
                        log.notice(
                            "inline file warning not stored: file=\(file.rawValue) error=\(sentenceWithCauses(of: error))"
                        )
                    }
                }
            }
        }
        if !files.isEmpty { isInJournal.store(true, ordering: .releasing) }
    }

    /// Empties the journal, which still holds moved content. Call it when messages pause.
    func emptyJournal() {
        let isDue = isInJournal.exchange(false, ordering: .acquiringAndReleasing)
        // While another process reads, this fails; its next attempt empties the journal.
        if isDue { store.tryToEmptyJournal() }
    }

    /// Stores several files with one fsync and one transaction, all or none. Returns files that must be
    /// stored separately.
    private func storeTogether(_ files: ArraySlice<FileID>, telling: Bool) throws -> [FileID] {
        guard files.count > 2 else { return Array(files) }
        var written: [(file: FileID, name: String, arguments: FileArguments)] = []
        do {
            for file in files {
                guard let content = try content(of: file), let bytes = content.decoded() else { continue }
                let (name, arguments) = try store.folders.write(bytes, durably: false)
                written.append((file, name, arguments))
            }
            try store.folders.synchroniseAll()
            try store.commit { change in
                for (file, name, arguments) in written {
                    try noteStored(file, name, arguments, telling: telling, change)
                }
            }
        } catch {
            for (_, name, _) in written { store.folders.remove(name) }
            throw error
        }
        return files.filter { file in !written.contains { $0.file == file } }
    }

    /// Stores a file, unless another thread did.
    func takeIn(_ file: FileID, telling: Bool) throws {
        guard let content = try content(of: file) else { return }
        guard let bytes = content.decoded() else { return try refuse(file, telling: telling) }
        let (name, arguments) = try store.folders.write(bytes)
        do {
            try store.commit { try noteStored(file, name, arguments, telling: telling, $0) }
        } catch {
            store.folders.remove(name)
            throw error
        }
    }

    private func content(of file: FileID) throws -> InlineContentTable.Content? {
        try store.read { try $0.inlineContents.content(of: file) }
    }

    /// Records a stored file.
    private func noteStored(
        _ file: FileID, _ name: String, _ arguments: FileArguments, telling: Bool, _ change: ProfileChange
    ) throws {
        guard try change.tables.inlineContents.replace(file, by: name, arguments) else {
            return change.abandon(name)
        }
        // A pending announcement of the message will report it.
        if telling, try !change.tables.inbox.announces(file) {
            try change.tell(.completed, of: file)
        }
    }

    private func refuse(_ file: FileID, telling: Bool) throws {
        try store.commit { change in
            let problem = FileProblem(.damaged, "The message does not hold the file it should.")
            try change.tables.inlineContents.drop(file)
            _ = try change.setStatus(
                .rcvError, of: file, from: [.rcvInvitation] + StoredFileStatus.downloading, problem: problem)
            if telling { try change.tell(.failed(problem), of: file) }
        }
    }

    private func warn(_ file: FileID, _ failure: ChatError, telling: Bool) throws {
        let problem = FileProblem(failure.fileProblemKind, failure.sentence)
        try store.commit { change in
            guard
                try change.setStatus(
                    .rcvWarning, of: file, from: [.rcvInvitation, .rcvAccepted, .rcvTransfer],
                    problem: problem)
            else { return }
            if telling { try change.tell(.delayed(problem), of: file) }
        }
    }
}

extension InlineContentTable.Content {
    /// nil if the content does not match its message.
    fileprivate func decoded() -> [UInt8]? {
        guard let bytes = Base64URL.decode(text), UInt64(bytes.count) == size else { return nil }
        return bytes
    }
}
