extension Chat {
    /// The chat that a user means: `@7`, `#3`, `*1` by its reference, `@bob` and `#book club` by kind and
    /// display name, `Saved notes` the notes, anything else by its display name alone.
    ///
    /// - Throws: `.noSuchChat`, also when the name fits several chats.
    public static func named(_ text: String, in chats: [Chat]) throws(ChatError) -> Chat {
        if let reference = ChatReference(text), let chat = chats.first(where: { $0.reference == reference }) {
            return chat
        }
        let fitting = chats.filter { $0.isMeant(by: text) }
        guard let chat = fitting.first else {
            throw ChatError(.noSuchChat, "There is no chat \(text); \(words(for: chats)).")
        }
        guard fitting.count == 1 else {
            let choices = fitting.map(\.reference.description).joined(separator: ", ")
            throw ChatError(.noSuchChat, "Several chats have this name; choose one of \(choices) instead.")
        }
        return chat
    }

    /// Of very many the first: the sentence is to be read.
    private static func words(for chats: [Chat]) -> String {
        guard !chats.isEmpty else { return "there are none yet" }
        let more = chats.count > maxNames ? " and \(chats.count - maxNames) more" : ""
        return "there are: " + chats.prefix(maxNames).map(\.displayName).joined(separator: ", ") + more
    }

    private static let maxNames = 50

    private func isMeant(by text: String) -> Bool {
        switch reference {
        case .direct: text == displayName || text == "@" + displayName
        case .group: text == displayName || text == "#" + displayName
        case .notes: text == displayName || text == "Saved notes"
        case .links: text == displayName
        }
    }
}
