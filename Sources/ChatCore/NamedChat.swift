/// A chat with the words by which its user selects it.
///
/// The display name that its peer chose is none of them: it changes when the peer wants.
public struct NamedChat: Hashable, Sendable {
    public let chat: Chat
    /// The name of its folder in a mount, which stays its own; nil while it has none.
    public let folder: String?
    /// The word for lists and messages: the user's alias, the folder, either with the sign of its kind or, where all
    /// these select another chat as well, the reference. It selects this chat among those that it was listed with.
    public let name: String

    public var reference: ChatReference { chat.reference }

    init(_ chat: Chat, folder: String?, name: String) {
        self.chat = chat
        self.folder = folder
        self.name = name
    }

    /// The name that the peer gives itself now; nil where it is no other than `name`, or unknown behind an alias.
    public var label: String? {
        chat.isNamedByUser || chat.displayName == name || chat.displayName == folder ? nil : chat.displayName
    }

    /// `name` with the reference, for who has to choose.
    var choice: String { name == "\(reference)" ? name : "\(name) (\(reference))" }
}
