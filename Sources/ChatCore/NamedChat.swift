/// A chat with the words that select it.
///
/// The peer's display name does not select it, because the peer can change it.
public struct NamedChat: Hashable, Sendable {
    public let chat: Chat
    /// Name of its folder in a mount, which never changes; nil without one.
    public let folder: String?
    /// Word for lists and messages that selects exactly this chat: the alias or folder, possibly with its
    /// sign, otherwise the reference.
    public let name: String

    public var reference: ChatReference { chat.reference }

    init(_ chat: Chat, folder: String?, name: String) {
        self.chat = chat
        self.folder = folder
        self.name = name
    }

    /// The peer's current display name; nil if equal to `name` or the folder, or hidden by an alias.
    public var label: String? {
        chat.isNamedByUser || chat.displayName == name || chat.displayName == folder ? nil : chat.displayName
    }

    /// `name` with the reference, for messages about ambiguity.
    var choice: String { name == "\(reference)" ? name : "\(name) (\(reference))" }
}
