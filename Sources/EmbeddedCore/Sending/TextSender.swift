import Agent
import Base
import ChatCore
import ChatProtocol

/// Sends texts without files. One transaction writes each side's log line and the message for the agent.
struct TextSender: Sendable {
    private let store: ProfileStore

    init(_ store: ProfileStore) { self.store = store }

    /// Blocks.
    func send(_ text: ComposedText, to chat: ChatReference) throws {
        try text.check()
        try store.commit { change in
            let chat = try change.tables.chats.id(of: chat, of: store.profile.id)
            guard try !change.tables.messageLog.holds(request: text.id, in: chat) else { return }
            if let refused = try change.tables.chats.chat(chat, of: store.profile.id)?.sendingRefused {
                throw ChatError(.sendingRefused, refused)
            }
            try insert(text, in: chat, change)
        }
    }

    private func insert(_ text: ComposedText, in chat: Int64, _ change: ProfileChange) throws {
        let tables = change.tables
        let recipients = try tables.chats.recipients(of: chat)
        let isOnNetwork = try tables.network.has(chat)
        guard isOnNetwork || !recipients.isEmpty else {
            throw ChatError(.sendingRefused, "This chat has no other members.")
        }
        let (id, now) = (SharedMessageID(from: SystemRandomSource()), store.clock.now())
        let content = ChatContent(.text, text: text.text)
        let sender = try tables.directory.profiles.name(of: store.profile.id) ?? store.profile.displayName
        let seconds = try tables.retention.timeToLive(of: chat)
        if isOnNetwork {
            try tables.sharedMessages.keep(
                MessageRecord(time: now, hasFile: false), of: MessageKey(id, by: .own), in: chat, item: nil)
            let message = NewMessage(content, timeToLive: seconds.map { Int($0) })
            try say(ChatMessage(.message(message), id: id), in: chat, change)
        }
        var line = MessageLine(.message, of: id, at: now, .sent, by: sender, content)
        line.disappears = seconds.map { now.advanced(by: .seconds($0)) }
        try tables.chats.noteMessage(in: chat, at: now)
        try change.write(line, to: ChatSide(profile: store.profile.id, chat: chat), request: text.id)
        (line.direction, line.author) = (.received, .contact)
        for recipient in recipients {
            try tables.chats.noteMessage(in: recipient.chat, at: now)
            try change.write(line, to: recipient)
        }
    }

    private func say(_ message: ChatMessage, in chat: Int64, _ change: ProfileChange) throws {
        do {
            guard try change.say(message, in: chat) else {
                throw ChatError(.sendingRefused, StoredChatRefusal.nobody.sentence(in: .group))
            }
        } catch let error as ChatProtocolError where error.code == .tooLong {
            throw ChatError.textTooLong
        }
    }
}
