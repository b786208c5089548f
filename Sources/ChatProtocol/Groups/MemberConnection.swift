/// A connection of this profile with another member of a group, beside the one with the host. Who joins makes a link for
/// each member that the host introduces; who is there already joins the link of the newcomer. A value; whoever has it
/// stores it with what follows.
///
/// | phase | on | becomes |
/// |---|---|---|
/// | toInvite | the link is made: it goes to the introducer | invited |
/// | invited | the member has joined it | connecting |
/// | toJoin | the agent has it | connecting |
/// | invited, connecting | both sides stand: the introducer is told | connected |
/// | any | the member leaves, is another one, or cannot be reached | toEnd, or nothing where the agent has none |
///
/// What is said in the group is kept for the member as soon as it may be able to connect, which this side notices later
/// than it happens: from then on the other side may have said that it is connected, and the host passes nothing on. What
/// comes both ways is known by its id.
public struct MemberConnection: Hashable, Sendable {
    public enum Phase: String, CaseIterable, Hashable, Sendable {
        case toInvite, invited, toJoin, connecting, connected, toEnd

        /// Whether what is said in the group is given to it, to be sent when it stands.
        public var carriesMessages: Bool { self == .invited || self == .connecting || self == .connected }
    }

    public let member: MemberID
    /// Who is told when it stands.
    public let introducer: MemberID
    public private(set) var phase: Phase
    /// To be joined; nil of one for which this profile makes the link, and once it was joined. A secret.
    public private(set) var link: String?

    public init(to member: MemberID, introducer: MemberID, phase: Phase = .toInvite, link: String? = nil) {
        self.member = member
        self.introducer = introducer
        self.phase = phase
        self.link = link
    }

    /// The link was made.
    /// - Returns: what the introducer is to be told; nil where nobody needs it any more.
    public mutating func made(_ link: String) -> GroupEvent? {
        guard phase == .toInvite else { return nil }
        phase = .invited
        return .memberInvitation(member, link: link)
    }

    /// The agent has joined the member's link. False where nobody needs that any more.
    public mutating func joined() -> Bool {
        guard phase == .toJoin else { return false }
        (phase, link) = (.connecting, nil)
        return true
    }

    /// The member has joined the link that was made for it.
    public mutating func answered() {
        if phase == .invited { phase = .connecting }
    }

    /// Both sides stand.
    /// - Returns: what the introducer is to be told; nil where it was.
    public mutating func stands() -> GroupEvent? {
        guard phase == .invited || phase == .connecting else { return nil }
        phase = .connected
        return .memberConnected(member)
    }

    public mutating func end() { (phase, link) = (.toEnd, nil) }
}
