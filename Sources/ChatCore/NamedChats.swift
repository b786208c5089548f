import Base

/// A profile's chats with the words that select them.
///
/// A chat is selected by its reference (`@7`, `#3`, `*1`), folder name or alias, optionally with `@` before a
/// contact's or `#` before a group's name. An ambiguous word selects no chat.
public struct NamedChats: Sendable {
    /// In the order of the given list.
    public let all: [NamedChat]
    private let folders: [ChatReference: String]
    /// Indices in `all`, by word.
    private let places: [String: [Int]]

    /// - Parameter folders: folder name of each chat; those of notes and links are fixed.
    public init(_ chats: [Chat], folders: [ChatReference: String]) {
        let words = chats.map { chat in
            Self.words(of: chat, folder: folders[chat.reference] ?? Self.fixedFolder(of: chat.reference))
        }
        var places: [String: [Int]] = [:]
        for (place, words) in words.enumerated() {
            for word in words { places[word, default: []].append(place) }
        }
        all = zip(chats, words).map { chat, words in
            NamedChat(
                chat, folder: folders[chat.reference] ?? Self.fixedFolder(of: chat.reference),
                name: words.first { places[$0]?.count == 1 } ?? "\(chat.reference)")
        }
        self.folders = folders
        self.places = places
    }

    private static func fixedFolder(of chat: ChatReference) -> String? {
        switch chat {
        case .notes: notesFolder
        case .links: linksFolder
        case .direct, .group: nil
        }
    }

    /// Reserved folder names.
    public static let notesFolder = "Saved notes"
    public static let linksFolder = "Links"
    static let controlFolder = ".chatfs"

    /// Alias, then folder, each also with its sign. A word in the form of a reference selects only by
    /// reference.
    private static func words(of chat: Chat, folder: String?) -> [String] {
        var names = chat.isNamedByUser ? [chat.displayName] : []
        if let folder, folder != names.first { names.append(folder) }
        let words =
            switch chat.reference {
            case .direct: names.flatMap { [$0, "@\($0)"] }
            case .group: names.flatMap { [$0, "#\($0)"] }
            case .notes, .links: names
            }
        return words.filter { ChatReference($0) == nil }
    }

    public subscript(reference: ChatReference) -> NamedChat? { all.first { $0.reference == reference } }

    /// Returns the chats of one kind, in which words of other kinds are free.
    public func only(_ kind: ChatKind) -> NamedChats {
        NamedChats(all.map(\.chat).filter(kind.fits), folders: folders)
    }

    /// Returns the chat selected by a word.
    /// - Throws: `.noSuchChat` if there is none or several, which are named.
    public func chat(_ word: String) throws(ChatError) -> NamedChat {
        let fitting = fitting(word)
        if fitting.count == 1 { return fitting[0] }
        guard fitting.isEmpty else {
            let choices = fitting.map(\.choice).joined(separator: ", ")
            throw ChatError(.noSuchChat, "Several chats have this name; choose one of \(choices) instead.")
        }
        let nearest = NearestWord.nearest(to: word, among: all.map(\.name))
        let question = nearest.map { " Did you mean \($0)?" } ?? ""
        throw ChatError(
            .noSuchChat, "There is no chat \(word); \(Self.words(for: all, asked: word)).\(question)")
    }

    private func fitting(_ word: String) -> [NamedChat] {
        if let reference = ChatReference(word) { return self[reference].map { [$0] } ?? [] }
        return (places[word] ?? []).map { all[$0] }
    }

    /// Rejects an alias that selects another chat or has the form of a reference.
    /// - Throws: `.nameTaken`, `.invalidCommand`.
    public func check(alias: String, of chat: ChatReference) throws(ChatError) {
        guard ChatReference(alias) == nil else {
            throw ChatError(
                .invalidCommand, "A chat cannot be called \(alias): this is the form of a reference.")
        }
        if let other = fitting(alias).first(where: { $0.reference != chat }) {
            throw ChatError(.nameTaken, "\(alias) names another chat already: \(other.choice).")
        }
        guard ![Self.notesFolder, Self.linksFolder, Self.controlFolder].contains(alias) else {
            throw ChatError(.nameTaken, "\(alias) is the name of another folder.")
        }
    }

    // MARK: - Messages

    /// Limits the list to keep the sentence readable.
    private static func words(for chats: [NamedChat], asked word: String) -> String {
        guard !chats.isEmpty else { return "there are none yet" }
        let calling = chats.filter { $0.label == word }.prefix(maxLabels).map(\.choice)
        if !calling.isEmpty {
            return
                "\(calling.joined(separator: ", ")) \(calling.count == 1 ? "has" : "have") this display name, "
                + "which selects no chat"
        }
        let more = chats.count > maxNames ? " and \(chats.count - maxNames) more" : ""
        return "there are: " + chats.prefix(maxNames).map(\.name).joined(separator: ", ") + more
    }

    private static let maxNames = 50
    private static let maxLabels = 5
}
