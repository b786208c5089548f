/// Roles in increasing order; each includes the rights of the earlier ones.
public enum MemberRole: String, CaseIterable, Comparable, Hashable, Sendable {
    case observer, author, member, moderator, admin, owner

    /// An unknown role has no rights.
    init(word: String) { self = MemberRole(rawValue: word) ?? .observer }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    public var mayWrite: Bool { self >= .member }
    /// May delete other members' messages.
    public var mayModerate: Bool { self >= .moderator }
    /// May forward messages and manage members.
    public var mayForward: Bool { self >= .admin }
}
