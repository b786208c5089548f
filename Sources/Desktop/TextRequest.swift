import ChatCore

/// A request to send a text.
struct TextRequest: ControlRequest {
    typealias Answer = SendingReply

    var text: String
    /// Message id, by which repetitions are recognised.
    var message: String
    /// The chat's name as the user typed it (`NamedChats`).
    var chat: String

    var method: ControlMethod { .say }

    /// Returns nil for an invalid request.
    var composed: ComposedText? {
        guard (1...64).contains(message.utf8.count) else { return nil }
        return ComposedText(id: message, text: text)
    }
}
