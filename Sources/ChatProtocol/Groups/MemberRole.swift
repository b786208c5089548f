/// What a member may do. Each may all that those before may.
public enum MemberRole: String, CaseIterable, Comparable, Hashable, Sendable {
    case observer, author, member, moderator, admin, owner

    /// A word of a later version may nothing.
    init(word: String) { self = MemberRole(rawValue: word) ?? .observer }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    public var mayWrite: Bool { self >= .member }
    /// May take away what others wrote.
    public var mayModerate: Bool { self >= .moderator }
    /// May pass on what others wrote, and look after members.
    public var mayForward: Bool { self >= .admin }
}
