import Base
import CommandLineKit
import Desktop
import Glibc

/// Searches the logs of a mount's chats for messages and captions with given words. Keeps no index, so that
/// texts stay only in the encrypted database.
struct TextSearch: Sendable {
    /// In lower case.
    private let words: [String]
    private let filter: WordFilter
    private let sender: String?

    /// - Parameters:
    ///   - text: Words that a message must contain, in any order and case.
    ///   - sender: Author of the messages; nil for any.
    /// - Throws: `UsageError` without a word.
    init(_ text: String, from sender: String?) throws(UsageError) {
        words = text.lowercased().split(whereSeparator: \.isWhitespace).map(String.init)
        filter = WordFilter(words)
        self.sender = sender
        guard !words.isEmpty else { throw UsageError("--text takes at least one word") }
    }

    func fits(_ message: LoggedMessage) -> Bool {
        guard ["message", "edit"].contains(message.event) else { return false }
        if let sender, message.sender != sender { return false }
        let text = [message.text, message.file?.name].compactMap(\.self).joined(separator: " ").lowercased()
        return words.allSatisfy { text.contains($0) }
    }

    /// Prints matching messages, one per line, chat by chat. Blocks.
    ///
    /// - Parameters:
    ///   - chats: Names of the chats' folders.
    ///   - start: Skips earlier messages; nil for none.
    func run(
        in chats: [String], of mounted: Mounted, since start: Timestamp? = nil, isForPrograms: Bool
    ) throws {
        for chat in chats {
            var log = ChatLog(path: ChatLog.path(ofChat: chat, at: mounted.mountpoint), start: start)
            try log.forEachNew(where: filter.mayFit) { line in
                guard let message = line.message, fits(message) else { return }
                if isForPrograms {
                    try Terminal.show(Self.json(line.text, chat: chat))
                } else {
                    let words = (message.words ?? []).joined(separator: " ")
                    try Terminal.show(PrintableText.escaping("\(chat)  \(words)"))
                }
            }
        }
    }

    /// Returns the line of the log with its chat as the first member.
    private static func json(_ line: String, chat: String) -> String {
        let member = String(JSONLine.object([("chat", chat)]).dropLast())
        let rest = String(line.dropFirst())
        return member + (rest == "}" ? "" : ",") + rest
    }
}
