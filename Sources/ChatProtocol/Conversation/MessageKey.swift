/// Who wrote a message.
public enum Author: Hashable, Sendable {
    /// This profile.
    case own
    /// The other one of a chat of two.
    case contact
    /// Another member of a group.
    case member(MemberID)

    var member: MemberID? {
        if case .member(let id) = self { id } else { nil }
    }
}

/// By which a message of a chat is known: programs choose ids by themselves, so two authors may choose the same.
public struct MessageKey: Hashable, Sendable {
    public var author: Author
    public var id: SharedMessageID

    public init(_ id: SharedMessageID, by author: Author) {
        self.author = author
        self.id = id
    }
}
