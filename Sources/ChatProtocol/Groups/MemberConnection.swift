/// This profile's connection with a group member other than the host. A newcomer creates a link for each
/// introduced member; existing members join it. A value; its owner stores it with the effects.
///
/// | phase | event | next phase |
/// |---|---|---|
/// | toInvite | link created; sent to the introducer | invited |
/// | invited | member joined it | connecting |
/// | toJoin | agent joined the link | connecting |
/// | invited, connecting | established; introducer told | connected |
/// | any | member leaves, is wrong or unreachable | toEnd, or deleted without a connection |
///
/// Messages are passed to the connection as soon as it may be establishing. This side notices that late, when
/// the peer may already have announced it and the host stopped forwarding. Messages that come both ways are
/// recognised by id.
public struct MemberConnection: Hashable, Sendable {
    public enum Phase: String, CaseIterable, Hashable, Sendable {
        case toInvite, invited, toJoin, connecting, connected, toEnd

        /// Whether group messages are passed to the connection, to be sent once established.
        public var carriesMessages: Bool { self == .invited || self == .connecting || self == .connected }
    }

    public let member: MemberID
    /// Told once it is established.
    public let introducer: MemberID
    public private(set) var phase: Phase
    /// Secret link to join; nil if this profile creates the link, or after joining.
    public private(set) var link: String?

    public init(to member: MemberID, introducer: MemberID, phase: Phase = .toInvite, link: String? = nil) {
        self.member = member
        self.introducer = introducer
        self.phase = phase
        self.link = link
    }

    /// Records the created link.
    /// - Returns: the event for the introducer; nil if no longer needed.
    public mutating func made(_ link: String) -> GroupEvent? {
        guard phase == .toInvite else { return nil }
        phase = .invited
        return .memberInvitation(member, link: link)
    }

    /// Records that the agent joined the link. Returns false if no longer needed.
    public mutating func joined() -> Bool {
        guard phase == .toJoin else { return false }
        (phase, link) = (.connecting, nil)
        return true
    }

    /// Records that the member joined its link.
    public mutating func answered() {
        if phase == .invited { phase = .connecting }
    }

    /// Records the established connection.
    /// - Returns: the event for the introducer; nil if already sent.
    public mutating func stands() -> GroupEvent? {
        guard phase == .invited || phase == .connecting else { return nil }
        phase = .connected
        return .memberConnected(member)
    }

    public mutating func end() { (phase, link) = (.toEnd, nil) }
}
