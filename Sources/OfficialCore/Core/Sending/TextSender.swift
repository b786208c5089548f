import Base
import ChatCore
import CoreServices

/// Sends texts without a file through the core. Such a message has no mark, so after an attempt without an
/// answer only the user can tell whether it was sent.
struct TextSender: Sendable {
    private let connection: CoreConnection
    private let index: IndexStore
    private let recent: RecentEvents
    /// By message id, so that a repetition finds the outcome of the first attempt.
    private let sending = AsyncKeyedMutex<String>()

    init(_ connection: CoreConnection, _ index: IndexStore, _ recent: RecentEvents) {
        self.connection = connection
        self.index = index
        self.recent = recent
    }

    /// - Throws: `.sendingUnsure` if the core may or may not have the text; errors of the core.
    func send(_ text: ComposedText, to chat: ChatReference) async throws(ChatError) {
        try text.check()
        try await sending.withLock(text.id) { () throws(ChatError) in try await sendAlone(text, to: chat) }
    }

    private func sendAlone(_ text: ComposedText, to chat: ChatReference) async throws(ChatError) {
        let begun = try await index.reading { try $0.sends.send(of: text.id) }
        if let begun {
            guard begun.item == nil else { return }
            throw Self.unsure
        }
        try await blocking.run { [index] in
            try index.commit(durably: true) { change in
                try change.tables.sends.begin(
                    text.id, size: 0, in: chat, folder: StagingFolder.folder(ofMessage: text.id), run: "")
            }
        }
        let item: APIItem
        do throws(OfficialCoreError) {
            item = try await connection.send(
                APIComposedMessage(source: nil, content: MessageContent(kind: .text, text: text.text)),
                to: chat)
        } catch {
            if error.code == .notUnderstood || error.leavesDoubt { throw Self.unsure }
            await blocking.attempt("forget a text that was not sent") { [index] in
                try index.write { try $0.sends.forget(text.id) }
            }
            throw error.chatError
        }
        recent.note([item.id])
        // If this cannot be recorded, a repetition reports that the outcome is unknown.
        await blocking.attempt("record that a text was sent") { [index] in
            try index.commit(durably: true) { change in
                try change.tables.sends.end(text.id, as: item.id)
                try change.take(item, .sending)
            }
        }
    }

    private static let unsure = ChatError(
        .sendingUnsure,
        "The connection to the SimpleX core broke during the send, so the text may or may not have been sent. "
            + "Check the chat.")
}
