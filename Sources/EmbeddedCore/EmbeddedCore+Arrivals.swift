import Base
import ChatCore
import Posix
import Store

/// What comes from other profiles.
extension EmbeddedCore {
    /// How many news are acted on in one transaction.
    private static let batch = 64

    /// At the start: takes in what arrived meanwhile, without telling, since whoever listens reads
    /// the lists afterwards. Files that no row names any more go. Blocks.
    func takeUp() throws {
        try takeInInline(telling: false)
        let (named, continued) = try commit { change -> (Set<String>, Set<String>) in
            try change.connection.execute("DELETE FROM news WHERE profile = ?", profile.id)
            let named = try change.connection.query(
                "SELECT stored_name FROM file WHERE profile = ? AND stored_name IS NOT NULL", profile.id
            ) { $0.text(0) }
            let receiving = try change.connection.query(
                """
                SELECT id FROM file WHERE profile = ?
                AND status IN ('rcv_accepted', 'rcv_transfer', 'rcv_warning')
                """, profile.id
            ) { "\($0.integer(0))" }
            return (Set(named), Set(receiving))
        }
        try folders.removeAll(except: named)
        try folders.removeIncoming(except: continued)
        try folders.sweepStaging(now: SystemWallClock().now())
        try sweepDamagedCopies()
    }

    /// After every ring of the bell, on its thread. False when something is left: a database that another process
    /// holds for long, a full disk.
    func hear() -> Bool {
        do {
            try takeInInline(telling: true)
            while try takeInNews() == Self.batch {}
            // A sender may have deleted what has one.
            try sweepDamagedCopies()
            return true
        } catch {
            log.warning(
                "New messages could not be taken in, and will be tried again: \(Base.sentence(of: error))")
            return false
        }
    }

    /// Acts on the oldest news and tells it. Returns how many there were.
    private func takeInNews() throws -> Int {
        // The snapshot first: most rings are for others, and those must not cost a write.
        let waiting = try read { try News.waiting(for: profile.id, limit: Self.batch, $0.connection) }
        guard !waiting.isEmpty else { return 0 }
        let described = waiting.compactMap { entry -> Int64? in
            if case .described(let item, _) = entry.news { item } else { nil }
        }
        let descriptions = try descriptionsToBegin(ofItems: described)
        var followUps: [@Sendable () -> Void] = []
        try commit { change in
            for (id, news) in try News.waiting(for: profile.id, limit: waiting.count, change.connection) {
                followUps += try act(on: news, descriptions, change)
                try change.connection.execute("DELETE FROM news WHERE id = ?", id)
            }
        }
        for followUp in followUps { followUp() }
        return waiting.count
    }

    /// Tells one piece of news; answers what to do after the commit.
    private func act(
        on news: News, _ descriptions: [FileID: ReceivedDescription], _ change: Change
    ) throws -> [@Sendable () -> Void] {
        switch news {
        case .newItem(let id, _):
            guard let item = try ItemRows.item(id, of: profile.id, change.context) else { return [] }
            change.tell(.newChatItems([item]))
            if item.file?.status == .rcvComplete { change.tell(.rcvFileComplete(item)) }
        case .described(let id, _):
            guard let item = try ItemRows.item(id, of: profile.id, change.context), let file = item.file
            else { return [] }
            change.tell(.rcvFileDescrReady(item))
            if try beginWhenWanted(item, file, descriptions[file.id], change) {
                return [{ [weak self] in self?.startDownload(file.id) }]
            }
        case .cancelled(let id, _):
            guard let item = try ItemRows.item(id, of: profile.id, change.context), let file = item.file
            else { return [] }
            change.tell(.rcvFileSndCancelled(item))
            return [{ [weak self] in self?.stopTransfer(file.id) }]
        case .deleted(let id, let chat, let storedName):
            change.abandon(storedName)
            let chat = try ItemRows.chats(of: profile.id, only: chat, change.connection).first?.reference
            if let chat { change.tell(.chatItemsDeleted([(chat, ItemID(id))], .deleted)) }
        case .chatUpdated(let chat):
            for chat in try ItemRows.chats(of: profile.id, only: chat, change.connection) {
                change.tell(.chatUpdated(chat))
            }
        }
        return []
    }

    private func stopTransfer(_ file: FileID) {
        Task { [weak self] in await self?.end(file) }
    }

    // MARK: - Inline files

    /// Turns the content of arrived messages into CryptoFiles and removes it from the rows. What the
    /// disk has no room for stays in its row and is tried again at the next ring.
    private func takeInInline(telling: Bool) throws {
        let files = try read { context in
            try context.connection.query(
                "SELECT id FROM file WHERE profile = ? AND inline_content IS NOT NULL ORDER BY id",
                profile.id
            ) { $0.integer(0) }
        }
        for start in stride(from: 0, to: files.count, by: Self.batch) {
            let group = files[start..<min(start + Self.batch, files.count)]
            // What fails together is tried one by one, so that each tells what is wrong with it.
            let left = (try? takeInTogether(group, telling: telling)) ?? Array(group)
            for file in left {
                do {
                    try takeInInline(file, telling: telling)
                } catch {
                    let failure = ChatError(wrapping: error)
                    log.warning("A small file could not be stored: \(failure.sentence)")
                    // The line above says what matters; its entry says it at the next start.
                    try? warn(file, failure, telling: telling)
                }
            }
        }
        if !files.isEmpty { hasArrivalsInLog.withLock { $0 = true } }
    }

    /// When no more messages come for a moment: the journal still holds what the rows held.
    func clearLog() {
        let isDue = hasArrivalsInLog.withLock { isDue in
            defer { isDue = false }
            return isDue
        }
        // Another process may be reading: then the next one empties it.
        if isDue { try? directory.database.checkpoint() }
    }

    /// Stores several inline files with one wait for the disk and one transaction, all of them or none.
    /// Returns those that need a look of their own.
    private func takeInTogether(_ files: ArraySlice<Int64>, telling: Bool) throws -> [Int64] {
        guard files.count > 2 else { return Array(files) }
        var written: [(file: Int64, name: String, arguments: FileArguments)] = []
        do {
            for file in files {
                guard let (text, size) = try inlineContent(of: file), let bytes = Base64URL.decode(text),
                    UInt64(bytes.count) == size
                else { continue }
                let (name, arguments) = try folders.write(bytes, durably: false)
                written.append((file, name, arguments))
            }
            try folders.synchroniseAll()
            try commit { change in
                for (file, name, arguments) in written {
                    try noteStored(file, name, arguments, telling: telling, change)
                }
            }
        } catch {
            for (_, name, _) in written { folders.remove(name) }
            throw error
        }
        return files.filter { file in !written.contains { $0.file == file } }
    }

    private func inlineContent(of file: Int64) throws -> (text: String, size: UInt64)? {
        try read { context in
            try context.connection.first(
                "SELECT inline_content, size FROM file WHERE id = ? AND inline_content IS NOT NULL", file
            ) { ($0.text(0), $0.unsigned(1)) }
        }
    }

    /// The row of a small file whose CryptoFile is on disk.
    private func noteStored(
        _ file: Int64, _ name: String, _ arguments: FileArguments, telling: Bool, _ change: Change
    ) throws {
        let changed = try change.connection.execute(
            """
            UPDATE file SET status = 'rcv_complete', problem = NULL, problem_sentence = NULL,
                stored_name = ?, key = ?, nonce = ?, inline_content = NULL
            WHERE id = ? AND inline_content IS NOT NULL
            """, name, arguments.key, arguments.nonce, file)
        guard changed > 0 else { return change.abandon(name) }
        // Told with its message, where that has not been told yet.
        if telling, try !isNews(file, change) {
            try change.tell({ .rcvFileComplete($0) }, ofFile: file)
        }
    }

    /// Stores one inline file. Nothing when another thread has done so.
    func takeInInline(_ file: Int64, telling: Bool) throws {
        guard let (text, size) = try inlineContent(of: file) else { return }
        guard let bytes = Base64URL.decode(text), UInt64(bytes.count) == size else {
            try commit { change in
                let problem = FileProblem(.damaged, "The message does not hold the file it should.")
                try change.connection.execute("UPDATE file SET inline_content = NULL WHERE id = ?", file)
                _ = try change.setStatus(
                    "rcv_error", ofFile: file, from: ["rcv_invitation", "rcv_warning"], problem: problem)
                if telling { try change.tell({ .rcvFileError($0, problem) }, ofFile: file) }
            }
            return
        }
        let (name, arguments) = try folders.write(bytes)
        do {
            try commit { try noteStored(file, name, arguments, telling: telling, $0) }
        } catch {
            folders.remove(name)
            throw error
        }
    }

    private func isNews(_ file: Int64, _ change: Change) throws -> Bool {
        try change.connection.exists(
            """
            SELECT 1 FROM news WHERE kind = 'new' AND item = (SELECT item FROM file WHERE id = ?)
            """, file)
    }

    private func warn(_ file: Int64, _ failure: ChatError, telling: Bool) throws {
        let kind: FileProblem.Kind = if case .file(let kind) = failure.code { kind } else { .other }
        let problem = FileProblem(kind, failure.sentence)
        try commit { change in
            guard
                try change.setStatus("rcv_warning", ofFile: file, from: ["rcv_invitation"], problem: problem)
            else { return }
            if telling { try change.tell({ .rcvFileWarning($0, problem) }, ofFile: file) }
        }
    }
}

let log = Posix.Log("core")
