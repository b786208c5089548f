/// Author of a message.
public enum Author: Hashable, Sendable {
    /// This profile.
    case own
    /// The contact of a direct chat.
    case contact
    /// Another member of a group.
    case member(MemberID)

    var member: MemberID? {
        if case .member(let id) = self { id } else { nil }
    }
}

/// Identifies a message in a chat. Programs choose ids, so two authors may use the same.
public struct MessageKey: Hashable, Sendable {
    public var author: Author
    public var id: SharedMessageID

    public init(_ id: SharedMessageID, by author: Author) {
        self.author = author
        self.id = id
    }
}
