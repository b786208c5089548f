/// A text without a file. Its author's program chose the id and may choose that of another text, so only chat, author and
/// id together name it.
public struct TextReference: Hashable, Sendable {
    public var chat: ChatReference
    /// The author's member id in a group; nil for a contact, and for cores that number their messages themselves.
    public var member: String?
    /// Id of its line in the log, of an official core the number of its item.
    public var id: String

    public init(_ id: String, by member: String? = nil, in chat: ChatReference) {
        (self.id, self.member, self.chat) = (id, member, chat)
    }

    /// A text of an official core.
    public init(_ item: ItemID, in chat: ChatReference) { self.init("\(item.rawValue)", in: chat) }

    /// Names the text within its chat. No id has a slash.
    public var word: String { member.map { "\($0)/\(id)" } ?? id }
}
