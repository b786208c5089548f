import ChatCore

/// A text that the daemon of a mount is to send: one line of JSON.
struct TextRequest: Codable, Hashable {
    var say: String
    /// The mark by which a repetition is known.
    var message: String
    /// As the user named it (`NamedChats`).
    var to: String

    /// nil for a request that makes no sense.
    var composed: ComposedText? {
        guard (1...64).contains(message.utf8.count) else { return nil }
        return ComposedText(id: message, text: say)
    }

    func reply(
        _ text: ComposedText, from core: any ChatCore, naming: some FolderNaming
    ) async -> ControlReply {
        do throws(ChatError) {
            let chat = try await naming.chats(of: core).chat(to)
            if let refused = chat.chat.sendingRefused { return ControlReply(problem: refused) }
            try await core.send(text, to: chat.reference)
            return ControlReply()
        } catch {
            return ControlReply(error)
        }
    }
}
