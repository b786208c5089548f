import Base
import ChatCore
import CoreServices

/// Has the core send messages, each once. A core can be asked only for what it has, so every attempt is noted first,
/// and after one without an answer its message is looked for (`SendSearch`).
final class MessageSender: Sendable {
    private let connection: CoreConnection
    private let index: IndexStore
    private let recent: RecentEvents
    private let staging: StagingFolder
    private let search: SendSearch
    /// By the identifier of a message: a repetition finds what became of the first.
    private let sending = AsyncKeyedMutex<String>()
    private let ownership: OfficialCoreSettings.Ownership
    /// Of a core on another machine.
    private let remote: (any RemoteFiles)?
    /// Marks the core's process: a send that was begun in an earlier process of our own is over. An
    /// attached core may have outlived ours.
    private let run: String

    private static let attachedRun = "attached"

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

    /// The number of the item that the message is, and the item where it was made now.
    enum Outcome {
        case sent(ChatItem)
        case wasSent(ItemID)
    }

    /// - Throws: `.sendingUnsure` when it cannot be known whether the core has it, `.sendingUndecided` while the core
    ///   cannot be asked; what the core refuses.
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
        let begun = try await blocking.run { [index] in try index.read { try $0.sends.send(of: message.id) } }
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
            item = try await give(message, staged, to: chat)
        } catch {
            // Of this attempt nothing left. An earlier one may have, and the core still read the file.
            let leftNothing = error.code != .notUnderstood && !error.leavesDoubt
            if begun != nil, message.mayBeRepeated, leftNothing {
                throw error.isUndelivered ? SendSearch.undecided(error) : error.chatError
            }
            item = try await recover(from: error, of: attempt, message, in: chat)
        }
        return .sent(try await noteSent(item, as: message))
    }

    /// The item that a message became which is to be taken back; nil when the core has none, and makes none any more:
    /// then nothing is kept of its attempt.
    /// - Throws: `.sendingUnsure`, `.sendingUndecided`, as `send`.
    func item(sentAs message: String, in chat: ChatReference) async throws(ChatError) -> ItemID? {
        try await sending.withLock(message) { () throws(ChatError) in
            let begun = try await blocking.run { [index] in try index.read { try $0.sends.send(of: message) }
            }
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

    /// Another machine gets the file first, since the name that it gives it is the mark; then the row is safe against a
    /// power cut, and with a core of this machine the file comes after it.
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
        let stored: FileSourceLocation
        do throws(OfficialCoreError) {
            stored = try await remote.store(message.source, size: message.size, as: message.fileName)
        } catch {
            // Whatever became of the file: no message names it.
            throw error.leavesDoubt ? PhoneErrors.away.chatError : error.chatError
        }
        let begun = try await blocking.run { [self] in
            // One of an earlier attempt names another file.
            try index.write { try $0.sends.forget(message.id) }
            return try note(message, SendSearch.mark(ofStored: stored.path), chat)
        }
        return (stored, begun)
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
        guard let begun else { throw ChatError(.internalError, "A send could not be noted.") }
        return begun
    }

    /// Has the core send it; the item that it made.
    private func give(
        _ message: ComposedMessage, _ staged: FileSourceLocation, to chat: ChatReference
    ) async throws(OfficialCoreError) -> APIItem {
        let response = try await connection.ask(
            Self.command(message, staged, chat, isStored: remote != nil), timeout: .seconds(120))
        guard case .newChatItems(let items) = response, let item = items.first else {
            throw OfficialCoreError(.notUnderstood, "The SimpleX core gave no message back.")
        }
        return item
    }

    private static func command(
        _ message: ComposedMessage, _ staged: FileSourceLocation, _ chat: ChatReference, isStored: Bool
    ) -> APICommand {
        let composed = APIComposedMessage(source: staged, content: message.content, isStored: isStored)
        if case .notes(let folder) = chat { return .createNotes(folder, [composed]) }
        return .send(APIChatReference(chat), [composed])
    }

    /// After an attempt without an answer: the item when the core made one, else what is to be told. Only a
    /// request of which something may have left leaves a doubt.
    private func recover(
        from error: OfficialCoreError, of attempt: BegunSend, _ message: ComposedMessage,
        in chat: ChatReference
    ) async throws(ChatError) -> APIItem {
        // The next process looks what became of it.
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

    /// Whether the core may still be at work on a send of an earlier attempt.
    private func mayBeUnderWay(_ begun: BegunSend) -> Bool {
        switch ownership {
        // One lane works in order: what is looked for afterwards comes after the send.
        case .library: false
        case .program: begun.run == run || begun.run == Self.attachedRun
        case .attached: true
        }
    }

    /// - Throws: `.sendingUndecided` where it could not be noted: the core has it, and the next attempt finds it there.
    private func noteSent(_ item: APIItem, as message: ComposedMessage) async throws(ChatError) -> ChatItem {
        do throws(ChatError) {
            return try await note(item, as: message)
        } catch {
            throw ChatError(
                .sendingUndecided, "The file was sent, but that could not be noted: \(error.sentence)",
                cause: error)
        }
    }

    /// The core has it: from now on the message is this item.
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
