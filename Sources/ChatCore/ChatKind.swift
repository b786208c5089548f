/// Kinds of chats with other people, which can be renamed, left and deleted.
public enum ChatKind: String, Codable, CaseIterable, Sendable {
    case contact, group

    public func fits(_ chat: Chat) -> Bool {
        switch chat.reference {
        case .direct: self == .contact
        case .group: self == .group
        case .notes, .links: false
        }
    }
}
