import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import Store

extension EmbeddedCore {
    /// Delivers a message. The staged file gets its lasting name first and loses the staged one last,
    /// so a repetition after a crash finds either the file to send or the item that was sent.
    public func send(
        _ message: ComposedMessage, to chat: ChatReference
    ) async throws(ChatError) -> ChatItem {
        let (item, isNew) = try await work { [self] in
            if let sent = try read({ try sentItem(message, $0) }) {
                unlink(message.source.path)
                return (sent, false)
            }
            let transport = try transport(of: message, to: chat)
            let content = try transport == .inline ? inlineContent(message) : nil
            let name = try folders.keep(message.source, size: message.size)
            do {
                let outcome = try commit { change in
                    if let sent = try sentItem(message, change.context) {
                        change.abandon(name)
                        return (sent, false)
                    }
                    return (
                        try deliver(message, to: chat, transport, storedName: name, content, change), true
                    )
                }
                unlink(message.source.path)
                return outcome
            } catch {
                folders.remove(name)
                throw error
            }
        }
        if isNew, let file = item.file, file.transport == .xftp { startUpload(file.id) }
        if isNew, item.file?.transport == .inline { hub.tell(.sndFileComplete(item)) }
        return item
    }

    /// Small files in one transaction, with one wait for the disk, all or none; else one by one.
    public func send(
        _ messages: [ComposedMessage], to chat: ChatReference
    ) async -> [Result<ChatItem, ChatError>] {
        do throws(ChatError) {
            if messages.count > 1,
                let items = try await work({ [self] in try sendTogether(messages, to: chat) })
            {
                for item in items { hub.tell(.sndFileComplete(item)) }
                return items.map { .success($0) }
            }
        } catch {
            // Which of them is the reason shows when they go one by one.
            log.debug("messages go one by one: \(error.sentence)")
        }
        return await sendOneByOne(messages, to: chat)
    }

    /// nil when one of them does not fit into its message, or was sent before.
    private func sendTogether(
        _ messages: [ComposedMessage], to chat: ChatReference
    ) throws -> [ChatItem]? {
        var contents: [String] = []
        for message in messages {
            guard try read({ try sentItem(message, $0) }) == nil,
                try transport(of: message, to: chat) == .inline
            else { return nil }
            contents.append(try inlineContent(message))
        }
        var names: [String] = []
        let items: [ChatItem]
        do {
            for message in messages {
                names.append(try folders.keep(message.source, size: message.size, durably: false))
            }
            try folders.synchroniseNames()
            items = try commit { change in
                try messages.indices.map { index in
                    try deliver(
                        messages[index], to: chat, .inline, storedName: names[index], contents[index],
                        change)
                }
            }
        } catch {
            for name in names { folders.remove(name) }
            throw error
        }
        for message in messages { unlink(message.source.path) }
        return items
    }

    private func sentItem(_ message: ComposedMessage, _ context: ItemRows.Context) throws -> ChatItem? {
        let id = try context.connection.first(
            "SELECT id FROM item WHERE profile = ? AND message_id = ?", profile.id, message.id
        ) { $0.integer(0) }
        return try id.flatMap { try ItemRows.item($0, of: profile.id, context) }
    }

    /// How the bytes will travel; refuses what cannot.
    private func transport(
        of message: ComposedMessage, to chat: ChatReference
    ) throws -> ChatFile.Transport {
        try read { context in
            let id = try chatID(chat, context.connection)
            let found = try ItemRows.chats(of: profile.id, only: id, context.connection).first
            if let refused = found?.sendingRefused { throw ChatError(.sendingRefused, refused) }
        }
        if case .notes = chat { return .local }
        if message.size <= FilePolicy.inlineLimit { return .inline }
        guard message.size <= FilePolicy.xftpLimit else {
            throw ChatError(
                .tooLarge,
                "The file is too large: chats take up to \(FilePolicy.xftpLimit) bytes (1 GiB), "
                    + "Saved notes take any size.")
        }
        guard try !directory.relays(of: profile).isEmpty else { throw Self.noRelay }
        return .xftp
    }

    static let noRelay = ChatError(
        .file(.noRelay),
        "No relay is configured, and files above \(FilePolicy.inlineLimit) bytes need one: "
            + "give its address once with --relay.")

    private func inlineContent(_ message: ComposedMessage) throws -> String {
        guard let arguments = message.source.arguments else {
            throw ChatError(.invalidCommand, "The file to send is not encrypted.")
        }
        let reader = try CryptoFileReader(
            file: try OpenFile(message.source.path, flags: O_RDONLY | O_NOFOLLOW), arguments: arguments)
        guard reader.size == message.size else {
            throw ChatError(.file(.damaged), "The file to send does not have the length it should have.")
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(message.size))
        try reader.decrypt { bytes.append(contentsOf: $0) }
        return Base64URL.encode(bytes)
    }

    /// Both sides of a message, in one transaction.
    private func deliver(
        _ message: ComposedMessage, to chat: ChatReference, _ transport: ChatFile.Transport,
        storedName: String, _ inlineContent: String?, _ change: Change
    ) throws -> ChatItem {
        let chatID = try chatID(chat, change.connection)
        let recipients = try recipients(of: chatID, change.connection)
        if recipients.isEmpty, transport != .local {
            throw ChatError(.sendingRefused, "Nobody else is in this chat.")
        }
        let now = directory.clock.now()
        let envelope = Envelope(
            message: message, transport: transport, created: now,
            expires: transport == .xftp ? now.advanced(by: Self.relayExpiry) : nil,
            recipients: recipients.count)
        let origin = try insertSent(envelope, chatID, storedName, change.connection)
        for (number, recipient) in recipients.enumerated() {
            let item = try insertReceived(
                envelope, recipient, origin: origin, number: number, inlineContent, change.connection)
            try change.post(.newItem(item, chat: recipient.chat), to: recipient.profile)
        }
        guard let item = try ItemRows.item(origin, of: profile.id, change.context) else {
            throw ChatError.noSuchItem
        }
        return item
    }

    /// What sender and recipients get alike.
    private struct Envelope {
        var message: ComposedMessage
        var transport: ChatFile.Transport
        var created: Timestamp
        var expires: Timestamp?
        var recipients: Int
    }

    private struct Recipient {
        var profile: Int64
        var chat: Int64
    }

    /// The other profiles of a chat, each with its own side of it.
    private func recipients(of chat: Int64, _ connection: Connection) throws -> [Recipient] {
        try connection.query(
            """
            SELECT other.profile, other.id FROM chat own JOIN chat other
            ON other.profile = own.contact AND other.contact = own.profile
            OR other.chat_group = own.chat_group AND other.profile != own.profile
            WHERE own.id = ? AND own.ended IS NULL AND other.ended IS NULL ORDER BY other.profile
            """, chat
        ) { Recipient(profile: $0.integer(0), chat: $0.integer(1)) }
    }

    private func insertSent(
        _ envelope: Envelope, _ chat: Int64, _ storedName: String, _ connection: Connection
    ) throws -> Int64 {
        let message = envelope.message
        let item = try insertItem(
            envelope, profile: profile.id, chat: chat, origin: nil, messageID: message.id,
            direction: "sent", time: message.modified ?? envelope.created, connection)
        let status = envelope.transport == .inline ? "snd_complete" : "snd_stored"
        try connection.execute(
            """
            INSERT INTO file (profile, item, name, size, transport, status, stored_name, key, nonce,
                created, expires, recipients) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            profile.id, item, message.fileName, message.size, envelope.transport.rawValue, status,
            storedName, message.source.arguments?.key, message.source.arguments?.nonce,
            envelope.created, envelope.expires, envelope.recipients)
        return item
    }

    private func insertReceived(
        _ envelope: Envelope, _ recipient: Recipient, origin: Int64, number: Int,
        _ inlineContent: String?, _ connection: Connection
    ) throws -> Int64 {
        let item = try insertItem(
            envelope, profile: recipient.profile, chat: recipient.chat, origin: origin, messageID: nil,
            direction: "received", time: envelope.created, connection)
        try connection.execute(
            """
            INSERT INTO file (profile, item, name, size, transport, status, created, expires,
                inline_content, recipient) VALUES (?, ?, ?, ?, ?, 'rcv_invitation', ?, ?, ?, ?)
            """,
            recipient.profile, item, envelope.message.fileName, envelope.message.size,
            envelope.transport.rawValue, envelope.created, envelope.expires, inlineContent, number)
        return item
    }

    private func insertItem(
        _ envelope: Envelope, profile: Int64, chat: Int64, origin: Int64?, messageID: String?,
        direction: String, time: Timestamp, _ connection: Connection
    ) throws -> Int64 {
        let content = ItemRows.fields(of: envelope.message.content.kind)
        try connection.execute(
            """
            INSERT INTO item (profile, chat, origin, message_id, direction, sender, time, created,
                kind, preview, seconds, text)
            VALUES (?, ?, ?, ?, ?, (SELECT name FROM profile WHERE id = ?), ?, ?, ?, ?, ?, ?)
            """,
            profile, chat, origin, messageID, direction, self.profile.id, time,
            envelope.created, content.word, content.preview, content.seconds,
            envelope.message.content.text)
        let item = connection.lastInsertedID
        try connection.execute("UPDATE chat SET updated = ? WHERE id = ?", envelope.created, chat)
        return item
    }
}
