import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import Store

/// A send that was begun, as the index has it.
struct BegunSend: Sendable {
    /// Its own folder in the staging folder: the mark by which the core's message is recognised.
    var folder: String
    /// The process of the core to which it was given.
    var run: String
    var item: ItemID?
    /// The newest item that was known when the first attempt began; 0 when nothing was.
    var newest: ItemID
}

extension OfficialCore {
    public func send(
        _ message: ComposedMessage, to chat: ChatReference
    ) async throws(ChatError) -> ChatItem {
        let folder = Self.folder(of: message)
        let begun = try await work { [self] in try index.read { try Self.begun(message, $0) } }
        if let item = begun?.item { return try await self.item(item, in: chat) }
        if let begun {
            if let item = try await search(for: begun, in: chat, mayBeUnderWay: mayBeUnderWay(begun)) {
                return try await note(item, as: message)
            }
            if !message.mayBeRepeated {
                if mayBeUnderWay(begun) { throw Self.unsure }
                if try await mayBeSentWithoutItem(folder) { throw Self.unsure }
            }
        }
        let (staged, attempt) = try await work { [self] in try begin(message, folder, chat) }
        let item: APIItem
        do throws(OfficialCoreError) {
            item = try await give(message, staged, to: chat)
        } catch {
            item = try await recover(from: error, of: attempt, message, in: chat)
        }
        // When this fails the core has it all the same: the next attempt finds it there.
        return try await note(item, as: message)
    }

    /// Has the core send it; the item that it made.
    private func give(
        _ message: ComposedMessage, _ staged: FileSourceLocation, to chat: ChatReference
    ) async throws(OfficialCoreError) -> APIItem {
        let response = try await ask(Self.command(message, staged, chat), timeout: .seconds(120))
        guard case .newChatItems(let items) = response, let item = items.first else {
            throw OfficialCoreError(.notUnderstood, "The SimpleX core gave no message back.")
        }
        return item
    }

    /// After an attempt without an answer: the item when the core made one, else what is to be told. Only a
    /// request of which something may have left leaves a doubt.
    private func recover(
        from error: OfficialCoreError, of attempt: BegunSend, _ message: ComposedMessage,
        in chat: ChatReference
    ) async throws(ChatError) -> APIItem {
        if error.code == .notUnderstood || error.leavesDoubt {
            let isOver = settings.ownership == .library
            if let item = try await search(for: attempt, in: chat, mayBeUnderWay: !isOver) { return item }
            guard isOver else { throw Self.unsure }
            if try await mayBeSentWithoutItem(attempt.folder) { throw Self.unsure }
        }
        // The next process looks what became of it.
        if error.code != .interrupted {
            await self.attempt("forget a message that was not sent") { [self] in
                try forget(message, attempt.folder)
            }
        }
        throw error.chatError
    }

    static let unsure = ChatError(
        .sendingUnsure,
        "The connection to the SimpleX core broke while this file was being sent; it cannot be known "
            + "whether it was. Look into the chat; 'chatfs retry' sends it again.")

    /// Whether the core may still be at work on a send of an earlier attempt.
    private func mayBeUnderWay(_ begun: BegunSend) -> Bool {
        switch settings.ownership {
        // One lane works in order: what is looked for afterwards comes after the send.
        case .library: false
        case .program: begun.run == run || begun.run == "attached"
        case .attached: true
        }
    }

    private static func command(
        _ message: ComposedMessage, _ staged: FileSourceLocation, _ chat: ChatReference
    ) -> APICommand {
        let composed = APIComposedMessage(source: staged, content: message.content)
        if case .notes(let folder) = chat { return .createNotes(folder, [composed]) }
        return .send(APIChatReference(chat), [composed])
    }

    // MARK: - Staging

    /// The same for every attempt of one message, and fit for a path.
    private static func folder(of message: ComposedMessage) -> String {
        "message-" + Hexadecimal.encode(Array(SHA256.hash(Array(message.id.utf8)).prefix(16)))
    }

    static func makeStagingFolder(_ path: String) throws {
        guard mkdir(path, 0o700) != 0 else { return }
        guard errno == EEXIST else {
            throw SystemError(code: errno, operation: "make the folder for sending")
        }
    }

    private static func begun(_ message: ComposedMessage, _ connection: Connection) throws -> BegunSend? {
        try connection.first("SELECT folder, run, item, newest FROM send WHERE message = ?", message.id) {
            BegunSend(
                folder: $0.text(0), run: $0.text(1), item: $0.integerOrNil(2).map(ItemID.init),
                newest: ItemID($0.integer(3)))
        }
    }

    /// The row first, safe against a power cut; then the file under the name that the recipients see, in
    /// its own folder, as a second name of what was handed over. Blocks.
    private func begin(
        _ message: ComposedMessage, _ folder: String, _ chat: ChatReference
    ) throws -> (FileSourceLocation, BegunSend) {
        let begun = try commit(durably: true) { change in
            // Numbers of items only grow, whatever chat they are in. A repetition keeps the first one's.
            try change.connection.execute(
                """
                INSERT INTO send (message, chat, folder, run, size, newest)
                VALUES (?, ?, ?, ?, ?, (SELECT coalesce(max(id), 0) FROM item))
                ON CONFLICT (message) DO UPDATE SET run = excluded.run
                """, message.id, chat.description, folder, run, message.size)
            return try Self.begun(message, change.connection)
        }
        guard let begun else { throw ChatError(.internalError, "A send could not be noted.") }
        let own = try PrivateFolder.folder(folder, in: OpenFile(stagingFolder, flags: O_RDONLY | O_DIRECTORY))
        if try !Self.isSame(message.source.path, as: message.fileName, in: own) {
            // Of an earlier attempt, which the core did not take; this one may have another key.
            unlinkat(own.descriptor, message.fileName, 0)
            try check("place a file that is sent") {
                linkat(AT_FDCWD, message.source.path, own.descriptor, message.fileName, 0)
            }
            // The core's message names it from the next step on.
            try own.synchronise()
        }
        let name = "\(stagingFolder)/\(folder)/\(message.fileName)"
        return (FileSourceLocation(path: name, arguments: message.source.arguments), begun)
    }

    /// Whether a name in a folder is another name of the file at `path`, or that has gone already.
    private static func isSame(
        _ path: String, as name: String, in folder: OpenFile
    ) throws(SystemError) -> Bool {
        var (placed, given) = (stat(), stat())
        guard fstatat(folder.descriptor, name, &placed, AT_SYMLINK_NOFOLLOW) == 0 else { return false }
        guard lstat(path, &given) == 0 else {
            guard errno == ENOENT else {
                throw SystemError(code: errno, operation: "place a file that is sent")
            }
            return true
        }
        return placed.st_ino == given.st_ino && placed.st_dev == given.st_dev
    }

    /// The core refused it: nothing is left of the attempt. Blocks.
    private func forget(_ message: ComposedMessage, _ folder: String) throws {
        removeStaged(folder)
        _ = try index.transaction { connection in
            try connection.execute("DELETE FROM send WHERE message = ? AND item IS NULL", message.id)
        }
    }

    /// The file of a message that is gone, and its folder. The core removes the file too. Blocks.
    func removeStaged(_ folder: String) {
        let path = "\(stagingFolder)/\(folder)"
        if let opened = try? OpenFile(path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW) {
            try? PrivateFolder.removeContents(of: opened, keeping: [])
        }
        rmdir(path)
    }

    // MARK: - What became of it

    /// The core has it: from now on the message is this item.
    private func note(_ item: APIItem, as message: ComposedMessage) async throws(ChatError) -> ChatItem {
        noteTold([item.id])
        let shown = try await work { [self] in
            let shown = try commit(durably: true) { change -> ChatItem? in
                try change.connection.execute(
                    "UPDATE send SET item = ? WHERE message = ?", item.id.rawValue, message.id)
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

/// Removes a file, best effort.
@Sendable func removeFile(_ path: String) { unlink(path) }
