import Base
import ChatCore

/// Selects the file of a chat by the name in its message, which unnumbered entries have too.
struct ItemSelection {
    private let word: String
    private var fitting: [ChatItem] = []
    private var count = 0

    /// Maximum number of matches in an error.
    private static let maxNamed = 10

    init(_ word: String) { self.word = word }

    /// Returns the name of an item's file.
    static func name(of item: ChatItem) -> String {
        SafeFileName.make(from: item.file?.name ?? "") ?? "file-\(item.id.rawValue)"
    }

    mutating func consider(_ items: [ChatItem]) {
        for item in items where item.file != nil && (Self.name(of: item) == word || item.file?.name == word) {
            count += 1
            if fitting.count < Self.maxNamed { fitting.append(item) }
        }
    }

    /// Returns nil if no name matches.
    /// - Throws: `.noSuchItem` with the numbers if several match.
    func result(in chat: String) throws(ChatError) -> ChatItem? {
        if count <= 1 { return fitting.first }
        let choices = fitting.map { item in
            "\(item.id.rawValue) (\(item.direction == .sent ? "sent" : "received") \(item.time.iso8601))"
        }
        let more = count > fitting.count ? " and \(count - fitting.count) more" : ""
        throw ChatError(
            .noSuchItem,
            "\(count) files of \(chat) are called \(word): choose one by its number, "
                + choices.joined(separator: ", ") + more + ".")
    }
}
