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
}

extension OfficialCore {
    public func send(
        _ message: ComposedMessage, to chat: ChatReference
    ) async throws(ChatError) -> ChatItem {
        let folder = Self.folder(of: message)
        let begun = try await work { [self] in try index.read { try Self.begun(message, $0) } }
        if let item = begun?.item { return try await self.item(item, in: chat) }
        if let begun {
            if let item = try await found(folder, in: chat, mayBeUnderWay: mayBeUnderWay(begun)) {
                return try await note(item, as: message)
            }
            if !message.mayBeRepeated {
                if mayBeUnderWay(begun) { throw Self.unsure }
                if try await mayBeSentWithoutItem(folder) { throw Self.unsure }
            }
        }
        let staged = try await work { [self] in try begin(message, folder, chat) }
        do throws(OfficialCoreError) {
            let response = try await ask(Self.command(message, staged, chat), timeout: .seconds(120))
            guard case .newChatItems(let items) = response, let item = items.first else {
                throw OfficialCoreError(.notUnderstood, "The SimpleX core gave no message back.")
            }
            return try await noted(item, as: message)
        } catch {
            if error.code == .notUnderstood || error.leavesDoubt {
                let hasOver = settings.ownership == .library
                if let item = try await found(folder, in: chat, mayBeUnderWay: !hasOver) {
                    return try await note(item, as: message)
                }
                guard hasOver else { throw Self.unsure }
                if try await mayBeSentWithoutItem(folder) { throw Self.unsure }
            }
            // The next process looks what became of it.
            if error.code != .interrupted { try? await work { [self] in try forget(message, folder) } }
            throw error.chatError
        }
    }

    private static let unsure = ChatError(
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
        try connection.first("SELECT folder, run, item FROM send WHERE message = ?", message.id) {
            BegunSend(folder: $0.text(0), run: $0.text(1), item: $0.integerOrNil(2).map(ItemID.init))
        }
    }

    /// The row first, safe against a power cut; then the file under the name that the recipients see, in
    /// its own folder, as a second name of what was handed over. Blocks.
    private func begin(
        _ message: ComposedMessage, _ folder: String, _ chat: ChatReference
    ) throws -> FileSourceLocation {
        _ = try commit(durably: true) { change in
            try change.connection.execute(
                """
                INSERT INTO send (message, chat, folder, run, size) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (message) DO UPDATE SET run = excluded.run
                """, message.id, chat.description, folder, run, message.size)
        }
        let path = "\(stagingFolder)/\(folder)"
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw SystemError(code: errno, operation: "make a folder for a file that is sent")
        }
        let name = "\(path)/\(message.fileName)"
        if link(message.source.path, name) != 0, errno != EEXIST {
            throw SystemError(code: errno, operation: "place a file that is sent")
        }
        return FileSourceLocation(path: name, arguments: message.source.arguments)
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

    private func noted(
        _ item: APIItem, as message: ComposedMessage
    ) async throws(OfficialCoreError) -> ChatItem {
        do throws(ChatError) {
            return try await note(item, as: message)
        } catch {
            throw OfficialCoreError(.system, error.sentence, cause: error)
        }
    }

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

    /// The message whose file lies in `folder`, looked for among the newest of the chat: once when the
    /// core's work on it is over, else several times. nil: it is not there.
    private func found(
        _ folder: String, in chat: ChatReference, mayBeUnderWay: Bool
    ) async throws(ChatError) -> APIItem? {
        try await connected()
        let begin = ContinuousClock.now
        for moment in mayBeUnderWay ? settings.looksForLostSend : [.zero] {
            try? await Task.sleep(until: begin + moment, clock: .continuous)
            if let item = try await look(for: folder, in: chat) { return item }
        }
        return nil
    }

    /// As many messages may have come in the meantime.
    private static let newestLookedAt = 200

    private func look(for folder: String, in chat: ChatReference) async throws(ChatError) -> APIItem? {
        do throws(OfficialCoreError) {
            var page = APIPage.last(settings.pageSize)
            var looked = 0
            while looked < Self.newestLookedAt {
                guard case .chatPage(let answer) = try await ask(.chatPage(APIChatReference(chat), page))
                else { return nil }
                let item = answer.items.last { item in
                    item.direction == .sent && item.file?.source?.path.contains("/\(folder)/") == true
                }
                if let item { return item }
                guard answer.count > 0, let oldest = answer.items.first?.id else { return nil }
                looked += answer.count
                page = .before(oldest, count: settings.pageSize)
            }
            return nil
        } catch {
            throw error.chatError
        }
    }

    /// Waits for a lost connection, for a while.
    private func connected() async throws(ChatError) {
        let end = ContinuousClock.now + settings.patience
        while !state.withLock({ $0.isConnected }) {
            guard ContinuousClock.now < end, !Task.isCancelled else {
                throw ChatError(.file(.unreachable), "There is no connection to the SimpleX core.")
            }
            try? await Task.sleep(for: .milliseconds(50))
        }
    }
}

/// Removes a file, best effort.
@Sendable func removeFile(_ path: String) { unlink(path) }
