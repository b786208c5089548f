import Base
import ChatCore

/// Picks the file of a chat that a word names: by the name in its message, as entries without a number have it too.
struct ItemSelection {
    private let word: String
    private var fitting: [ChatItem] = []
    private var count = 0

    /// So many are named when several fit.
    private static let maxNamed = 10

    init(_ word: String) { self.word = word }

    /// The name by which a file is found.
    static func name(of item: ChatItem) -> String {
        SafeFileName.make(from: item.file?.name ?? "") ?? "file-\(item.id.rawValue)"
    }

    mutating func consider(_ items: [ChatItem]) {
        for item in items where item.file != nil && (Self.name(of: item) == word || item.file?.name == word) {
            count += 1
            if fitting.count < Self.maxNamed { fitting.append(item) }
        }
    }

    /// nil where no name fits.
    /// - Throws: `.noSuchItem` where several do: with the number of each.
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
