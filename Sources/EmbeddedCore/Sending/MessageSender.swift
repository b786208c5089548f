import Agent
import Base
import ChatCore
import ChatProtocol
import Cryptography
import Glibc
import Posix

/// Delivers messages with files to all sides of a chat. Small files travel inside the message; larger ones
/// are uploaded.
///
/// The staged file gets its permanent name first and loses the staged one last. A repetition after a crash
/// finds either the staged file or the sent item.
final class MessageSender: Sendable {
    private let store: ProfileStore
    private let uploads: Uploads

    init(_ store: ProfileStore, _ uploads: Uploads) {
        self.store = store
        self.uploads = uploads
    }

    func send(_ message: ComposedMessage, to chat: ChatReference) async throws(ChatError) -> ChatItem {
        let (item, isNew) = try await blocking.run { [self] in try deliver(message, to: chat) }
        guard isNew, let file = item.file else { return item }
        switch file.transport {
        case .xftp: uploads.start(file.id)
        case .inline: store.events.tell(.itemChanged(item, .completed))
        case .smp, .local: break
        }
        return item
    }

    /// Sends small files in one transaction with one fsync, all or none. Returns nil if they must be sent one
    /// by one, because one is too large or was sent before.
    func sendTogether(
        _ messages: [ComposedMessage], to chat: ChatReference
    ) async -> [ChatItem]? {
        guard messages.count > 1 else { return nil }
        do throws(ChatError) {
            guard let items = try await blocking.run({ [self] in try deliver(messages, to: chat) }) else {
                return nil
            }
            for item in items { store.events.tell(.itemChanged(item, .completed)) }
            return items
        } catch {
            // Sending them one by one will show the failing one.
            log.debug("batch not sent, sending one by one: error=\(error.sentence)")
            return nil
        }
    }

    /// Returns the item, and whether it is new. Blocks.
    private func deliver(
        _ message: ComposedMessage, to chat: ChatReference
    ) throws -> (item: ChatItem, isNew: Bool) {
        if let sent = try store.read({ try $0.items.item(sentAs: message.id) }) {
            unlink(message.source.path)
            return (sent, false)
        }
        let transport = try transport(of: message, to: chat)
        let content = try transport == .inline ? inlineContent(of: message) : nil
        let name = try store.folders.keep(message.source, size: message.size)
        do {
            let outcome = try store.commit { change in
                if let sent = try change.tables.items.item(sentAs: message.id) {
                    change.abandon(name)
                    return (sent, false)
                }
                return (try insert(message, in: chat, transport, storedName: name, content, change), true)
            }
            unlink(message.source.path)
            return outcome
        } catch {
            store.folders.remove(name)
            throw error
        }
    }

    private func deliver(_ messages: [ComposedMessage], to chat: ChatReference) throws -> [ChatItem]? {
        var contents: [String] = []
        for message in messages {
            guard try store.read({ try $0.items.item(sentAs: message.id) }) == nil,
                try transport(of: message, to: chat) == .inline
            else { return nil }
            contents.append(try inlineContent(of: message))
        }
        var names: [String] = []
        let items: [ChatItem]
        do {
            for message in messages {
                names.append(try store.folders.keep(message.source, size: message.size, durably: false))
            }
            try store.folders.synchroniseNames()
            items = try store.commit { change in
                try messages.indices.map { index in
                    try insert(
                        messages[index], in: chat, .inline, storedName: names[index], contents[index], change)
                }
            }
        } catch {
            for name in names { store.folders.remove(name) }
            throw error
        }
        for message in messages { unlink(message.source.path) }
        return items
    }

    /// Returns the transport, or throws if the message cannot be sent.
    private func transport(
        of message: ComposedMessage, to chat: ChatReference
    ) throws -> ChatFile.Transport {
        let isOnNetwork = try store.read { tables in
            let id = try tables.chats.id(of: chat, of: store.profile.id)
            let found = try tables.chats.chat(id, of: store.profile.id)
            if let refused = found?.sendingRefused { throw ChatError(.sendingRefused, refused) }
            return try tables.network.has(id)
        }
        if case .notes = chat { return .local }
        // Programs on the network take files of all sizes from relays only.
        if message.size <= FilePolicy.inlineLimit, !isOnNetwork { return .inline }
        guard message.size <= FilePolicy.xftpLimit else {
            throw ChatError(
                .tooLarge,
                "The file is too large: chats take up to \(FilePolicy.xftpLimit) bytes (1 GiB), "
                    + "Saved notes take any size.")
        }
        try uploads.requireRelay()
        return .xftp
    }

    /// Sends the message to the network. Its file's description follows after the upload.
    private func offer(
        _ message: ComposedMessage, _ id: SharedMessageID, as item: ItemID, in chat: Int64,
        at time: Timestamp, staying seconds: Int64?, _ change: ProfileChange
    ) throws {
        let new = NewMessage(
            ChatContent(message.content), file: FileInvitation(name: message.fileName, size: message.size),
            timeToLive: seconds.map { Int($0) })
        try change.tables.sharedMessages.keep(
            MessageRecord(time: time, hasFile: true), of: MessageKey(id, by: .own), in: chat, item: item)
        guard try change.say(ChatMessage(.message(new), id: id), in: chat, of: item) else {
            throw ChatError(.sendingRefused, StoredChatRefusal.nobody.sentence(in: .group))
        }
    }

    private func inlineContent(of message: ComposedMessage) throws -> String {
        guard let arguments = message.source.arguments else {
            throw ChatError(.invalidCommand, "The file to send is not encrypted.")
        }
        guard let file = try OpenFile.regular(message.source.path, flags: O_NOFOLLOW) else {
            throw ChatError(.invalidCommand, "Only a regular file can be sent.")
        }
        let reader = try CryptoFileReader(file: file, arguments: arguments)
        guard reader.size == message.size else {
            throw ChatError(.file(.damaged), "The file to send does not have the length it should have.")
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(message.size))
        try reader.decrypt { bytes.append(contentsOf: $0) }
        return Base64URL.encode(bytes)
    }

    /// Inserts a message's items for sender and recipients.
    private func insert(
        _ message: ComposedMessage, in chat: ChatReference, _ transport: ChatFile.Transport,
        storedName: String, _ inlineContent: String?, _ change: ProfileChange
    ) throws -> ChatItem {
        let tables = change.tables
        let chat = try tables.chats.id(of: chat, of: store.profile.id)
        let recipients = try tables.chats.recipients(of: chat)
        let isOnNetwork = try tables.network.has(chat)
        if recipients.isEmpty, !isOnNetwork, transport != .local {
            throw ChatError(.sendingRefused, "This chat has no other members.")
        }
        let now = store.clock.now()
        let seconds = try tables.retention.timeToLive(of: chat)
        let envelope = ItemTable.Envelope(
            message: message, transport: transport, created: now,
            expires: transport == .xftp ? now.advanced(by: FilePolicy.relayRetention) : nil,
            recipients: isOnNetwork ? 1 : recipients.count,
            disappears: seconds.map { now.advanced(by: .seconds($0)) })
        change.noteDisappearing(at: envelope.disappears)
        let origin = try tables.items.insertSent(envelope, in: chat, storedName: storedName)
        try tables.chats.noteMessage(in: chat, at: now)
        let id = SharedMessageID(from: SystemRandomSource())
        if isOnNetwork { try offer(message, id, as: origin, in: chat, at: now, staying: seconds, change) }
        if isOnNetwork || !recipients.isEmpty {
            try write(
                message, id, as: origin, .sent, at: now, to: ChatSide(profile: store.profile.id, chat: chat),
                change)
        }
        for (number, recipient) in recipients.enumerated() {
            let item = try tables.items.insertReceived(
                envelope, by: recipient, origin: origin, number: number, inlineContent: inlineContent)
            try tables.chats.noteMessage(in: recipient.chat, at: now)
            try write(message, id, as: item, .received, at: now, to: recipient, change)
            try change.post(.newItem(item), to: recipient)
        }
        guard let item = try tables.items.item(origin) else { throw ChatError.noSuchItem }
        return item
    }

    /// Writes a message's line to one side's log.
    private func write(
        _ message: ComposedMessage, _ id: SharedMessageID, as item: ItemID, _ direction: ChatItem.Direction,
        at time: Timestamp, to side: ChatSide, _ change: ProfileChange
    ) throws {
        let sender = try change.tables.directory.profiles.name(of: store.profile.id)
        var line = MessageLine(
            .message, of: id, at: time, direction, by: sender ?? store.profile.displayName,
            ChatContent(message.content))
        line.file = MessageLine.File(name: message.fileName, size: message.size, item: item)
        try change.write(line, to: side)
    }
}
