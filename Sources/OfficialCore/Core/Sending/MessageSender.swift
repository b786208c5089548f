import Base
import ChatCore
import CoreServices

/// Sends messages through the core, each exactly once. Every attempt is recorded first. After an attempt
/// without an answer, `SendSearch` looks for its message in the core.
final class MessageSender: Sendable {
    private let connection: CoreConnection
    private let index: IndexStore
    private let recent: RecentEvents
    private let staging: StagingFolder
    private let search: SendSearch
    /// By message id, so that a repetition finds the outcome of the first attempt.
    private let sending = AsyncKeyedMutex<String>()
    private let ownership: OfficialCoreSettings.Ownership
    /// For a core on another machine.
    private let remote: (any RemoteFiles)?
    /// Id of the core's process: a send started in an earlier process that ChatFS ran is over. An attached
    /// core may have outlived it.
    private let run: String

    private static let attachedRun = "attached"

    /// A file here, and its name for another machine.
    private struct NamedFile: Hashable {
        var source: FileSourceLocation
        var name: String

        init(_ message: ComposedMessage) { (source, name) = (message.source, message.fileName) }
    }

    /// Files stored on another machine without a message, so that the next try does not store them again.
    private let unsent = Lock<[NamedFile: FileSourceLocation]>([:])

    init(
        _ connection: CoreConnection, _ index: IndexStore, _ recent: RecentEvents, _ staging: StagingFolder,
        _ settings: OfficialCoreSettings, _ remote: (any RemoteFiles)? = nil
    ) {
        self.remote = remote
        self.connection = connection
        self.index = index
        self.recent = recent
        self.staging = staging
        search = SendSearch(connection, settings)
        ownership = settings.ownership
        run =
            settings.ownership == .attached
            ? Self.attachedRun : Hexadecimal.encode(SystemRandomSource().bytes(8))
    }

    /// The item of the message, or its number if an earlier attempt sent it.
    enum Outcome {
        case sent(ChatItem)
        case wasSent(ItemID)
    }

    /// - Throws: `.sendingUnsure` if the core may or may not have the message; `.sendingUndecided` while the
    ///   core cannot be asked; errors of the core.
    func send(
        _ message: ComposedMessage, to chat: ChatReference
    ) async throws(ChatError) -> Outcome {
        try await sending.withLock(message.id) { () throws(ChatError) in
            try await sendAlone(message, to: chat)
        }
    }

    private func sendAlone(
        _ message: ComposedMessage, to chat: ChatReference
    ) async throws(ChatError) -> Outcome {
        let begun = try await index.reading { try $0.sends.send(of: message.id) }
        if let item = begun?.item { return .wasSent(item) }
        if let begun {
            let item = try await search.item(of: begun, in: chat, mayBeUnderWay: mayBeUnderWay(begun))
            if let item { return .sent(try await noteSent(item, as: message)) }
            if !message.mayBeRepeated {
                if mayBeUnderWay(begun) { throw SendSearch.unsure }
                if try await search.mayBeSentWithoutItem(begun.folder) { throw SendSearch.unsure }
            }
        }
        let (staged, attempt) = try await begin(message, chat)
        let item: APIItem
        do throws(OfficialCoreError) {
            item = try await connection.send(
                APIComposedMessage(source: staged, content: message.content, isStored: remote != nil),
                to: chat)
        } catch {
            if error.isUndelivered, remote != nil {
                unsent.withLock { $0[NamedFile(message)] = staged }
            }
            // This attempt sent nothing, but an earlier one may have, and the core may still read the file.
            let leftNothing = error.code != .notUnderstood && !error.leavesDoubt
            if begun != nil, message.mayBeRepeated, leftNothing {
                throw error.isUndelivered ? SendSearch.undecided(error) : error.chatError
            }
            item = try await recover(from: error, of: attempt, message, in: chat)
        }
        return .sent(try await noteSent(item, as: message))
    }

    /// Returns the item of a message to be withdrawn. Returns nil if the core has none and will create none;
    /// the attempt is then forgotten.
    /// - Throws: `.sendingUnsure`, `.sendingUndecided`, as `send`.
    func item(sentAs message: String, in chat: ChatReference) async throws(ChatError) -> ItemID? {
        try await sending.withLock(message) { () throws(ChatError) in
            let begun = try await index.reading { try $0.sends.send(of: message) }
            guard let begun else { return nil }
            if let item = begun.item { return item }
            let isOpen = mayBeUnderWay(begun)
            if let item = try await search.item(of: begun, in: chat, mayBeUnderWay: isOpen) { return item.id }
            if isOpen { throw SendSearch.unsure }
            if try await search.mayBeSentWithoutItem(begun.folder) { throw SendSearch.unsure }
            await blocking.attempt("forget a message that was not sent") { [index, staging] in
                staging.remove(begun.folder)
                try index.write { try $0.sends.forget(message) }
            }
            return nil
        }
    }

    /// Records an attempt durably and stages its file. Another machine gets the file before the row, because
    /// its name there is the mark; otherwise the file follows the row.
    private func begin(
        _ message: ComposedMessage, _ chat: ChatReference
    ) async throws(ChatError) -> (FileSourceLocation, BegunSend) {
        guard let remote else {
            let folder = StagingFolder.folder(of: message)
            return try await blocking.run { [self] in
                let begun = try note(message, folder, chat)
                return (try staging.place(message, in: folder), begun)
            }
        }
        let stored = try await storedFile(of: message, remote)
        let begun = try await blocking.run { [self] in
            // An earlier attempt refers to another file.
            try index.write { try $0.sends.forget(message.id) }
            return try note(message, SendSearch.mark(ofStored: stored.path), chat)
        }
        return (stored, begun)
    }

    /// Stores the file of a message on another machine, unless an earlier try stored it and sent nothing.
    private func storedFile(
        of message: ComposedMessage, _ remote: any RemoteFiles
    ) async throws(ChatError) -> FileSourceLocation {
        if let stored = unsent.withLock({ $0.removeValue(forKey: NamedFile(message)) }) { return stored }
        do throws(OfficialCoreError) {
            // The file would stay there without a message.
            try await connection.verify()
            return try await remote.store(message.source, size: message.size, as: message.fileName)
        } catch {
            // The file may have been stored, but no message refers to it.
            throw error.leavesDoubt ? PhoneErrors.away.chatError : error.chatError
        }
    }

    /// Blocks.
    private func note(
        _ message: ComposedMessage, _ folder: String, _ chat: ChatReference
    ) throws -> BegunSend {
        let begun = try index.commit(durably: true) { change in
            try change.tables.sends.begin(
                message.id, size: message.size, in: chat, folder: folder, run: run)
            return try change.tables.sends.send(of: message.id)
        }
        guard let begun else { throw ChatError(.internalError, "The send could not be recorded.") }
        return begun
    }

    /// Handles an attempt without an answer: returns the item if the core created one, else throws. Only a
    /// request that may have been sent leaves a doubt.
    private func recover(
        from error: OfficialCoreError, of attempt: BegunSend, _ message: ComposedMessage,
        in chat: ChatReference
    ) async throws(ChatError) -> APIItem {
        // The next process searches for the message.
        if error.code == .interrupted { throw SendSearch.undecided(error) }
        if error.code == .notUnderstood || error.leavesDoubt {
            let isOver = ownership == .library
            if let item = try await search.item(of: attempt, in: chat, mayBeUnderWay: !isOver) { return item }
            guard isOver else { throw SendSearch.unsure }
            if try await search.mayBeSentWithoutItem(attempt.folder) { throw SendSearch.unsure }
        }
        await blocking.attempt("forget a message that was not sent") { [index, staging] in
            staging.remove(attempt.folder)
            try index.write { try $0.sends.forget(message.id) }
        }
        throw error.chatError
    }

    /// Returns true if the core may still be sending an earlier attempt.
    private func mayBeUnderWay(_ begun: BegunSend) -> Bool {
        switch ownership {
        // A lane is ordered, so a search follows the send.
        case .library: false
        case .program: begun.run == run || begun.run == Self.attachedRun
        case .attached: true
        }
    }

    /// - Throws: `.sendingUndecided` if the row could not be written. The core has the message, and the next
    ///   attempt finds it.
    private func noteSent(_ item: APIItem, as message: ComposedMessage) async throws(ChatError) -> ChatItem {
        do throws(ChatError) {
            return try await note(item, as: message)
        } catch {
            throw ChatError(
                .sendingUndecided, "The file was sent, but that could not be recorded: \(error.sentence)",
                cause: error)
        }
    }

    /// Records the item that the message became.
    private func note(_ item: APIItem, as message: ComposedMessage) async throws(ChatError) -> ChatItem {
        recent.note([item.id])
        let shown = try await blocking.run { [index] in
            let shown = try index.commit(durably: true) { change -> ChatItem? in
                try change.tables.sends.end(message.id, as: item.id)
                return try change.take(item, .sending)
            }
            removeFile(message.source.path)
            return shown
        }
        guard let shown else {
            throw ChatError(.internalError, "The SimpleX core sent the message without its file.")
        }
        return shown
    }
}
