import ChatCore

/// A text that the daemon of a mount is to send: one line of JSON.
struct TextRequest: Codable, Hashable {
    var say: String
    /// The mark by which a repetition is known.
    var message: String
    /// As the user named it (`Chat.named`).
    var to: String

    /// nil for a request that makes no sense.
    var composed: ComposedText? {
        guard (1...64).contains(message.utf8.count) else { return nil }
        return ComposedText(id: message, text: say)
    }

    func reply(_ text: ComposedText, from core: any ChatCore) async -> ControlReply {
        do throws(ChatError) {
            let chat = try Chat.named(to, in: try await core.chats())
            if let refused = chat.sendingRefused { return ControlReply(problem: refused) }
            try await core.send(text, to: chat.reference)
            return ControlReply()
        } catch {
            return ControlReply(error)
        }
    }
}
