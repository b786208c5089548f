import ChatCore

/// A request to send a text: one line of JSON to the daemon.
struct TextRequest: Codable, Hashable {
    var say: String
    /// Message id, by which repetitions are recognised.
    var message: String
    /// The chat's name as the user typed it (`NamedChats`).
    var to: String

    /// Returns nil for an invalid request.
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
