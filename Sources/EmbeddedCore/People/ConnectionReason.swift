import Agent
import Base
import ChatProtocol
import SMP

/// The reason for a connection, stored before the peer can send. Its first information must fit the reason;
/// any other has no effect.
///
/// | reason | permitted first information |
/// |---|---|
/// | own invitation, requester, given invitation | x.info |
/// | given address of a person | x.info; for a business also x.grp.link.inv, x.grp.link.reject |
/// | given address of a group | x.grp.link.inv, x.grp.link.reject |
/// | given address of unknown kind, from an earlier release | x.info, x.grp.link.inv, x.grp.link.reject |
/// | group invitation | x.ok |
/// | member | x.grp.mem.info of this member |
/// | own address, none | none |
enum ConnectionReason: Hashable, Sendable {
    /// A one-time link made by this profile.
    case ownInvitation
    /// The profile's address.
    case ownAddress
    /// An accepted requester at the profile's address.
    case requester
    /// A one-time link given by the user.
    case givenInvitation
    /// An address given by the user.
    case givenAddress(Owner)
    /// The host of a group, after accepting an invitation from the contact of this chat.
    case groupInvitation(chat: Int64)
    /// A member of this chat's group, introduced by another member.
    case member(MemberID, chat: Int64)

    /// Owner of an address, known from its link.
    enum Owner: String, Hashable, Sendable, CaseIterable {
        case contact, group, unknown
    }

    /// Whether the connection belongs to a group that this profile is in or joins.
    var isOfGroup: Bool {
        switch self {
        case .groupInvitation, .member: true
        case .ownInvitation, .ownAddress, .requester, .givenInvitation, .givenAddress: false
        }
    }

    /// Returns the name of the person accountable for the peer's server; nil if the user named it. A host
    /// names the servers of all its group's members, and a contact those of its invitations. All strangers
    /// share one name, because one person can pose as many.
    /// - Parameter connection: nil while its link is fetched.
    func peer(of connection: ConnectionID?) -> String? {
        switch self {
        case .member(_, let chat): "group \(chat)"
        case .groupInvitation(let chat): "inviter \(chat)"
        case .requester, .ownAddress: "strangers"
        case .ownInvitation, .givenInvitation, .givenAddress:
            connection.map { "connection \($0.number)" }
        }
    }

    /// Whether the peer may introduce itself with this event.
    func admits(_ event: MessageEvent) -> Bool {
        switch (self, event) {
        case (.ownInvitation, .information), (.requester, .information), (.givenInvitation, .information):
            true
        case (.givenAddress(let owner), .information): owner != .group
        case (.givenAddress(let owner), .group(.linkInvitation(let invitation))):
            owner != .contact || invitation.isBusiness
        case (.givenAddress, .group(.linkRejection)): true
        case (.groupInvitation, .nothingToSay): true
        case (.member(let member, _), .group(.memberInformation(let id, _))): member == id
        default: false
        }
    }
}

extension ConnectionReason {
    /// The reason for joining a link given by the user.
    init(joining kind: LinkKind) {
        switch kind {
        case .invitation: self = .givenInvitation
        case .address: self = .givenAddress(.contact)
        case .group: self = .givenAddress(.group)
        }
    }

    /// Text stored here and by the agent.
    var text: String {
        switch self {
        case .ownInvitation: "own invitation"
        case .ownAddress: "own address"
        case .requester: "requester"
        case .givenInvitation: "given invitation"
        case .givenAddress(let owner): "given address \(owner.rawValue)"
        case .groupInvitation(let chat): "group invitation \(chat)"
        case .member(let id, let chat): "member \(chat) \(Hexadecimal.encode(id.bytes))"
        }
    }

    /// Returns nil for any other text.
    init?(text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        switch (words.first, words.count) {
        case ("own", 2) where words[1] == "invitation": self = .ownInvitation
        case ("own", 2) where words[1] == "address": self = .ownAddress
        case ("requester", 1): self = .requester
        case ("given", 2) where words[1] == "invitation": self = .givenInvitation
        case ("given", 3) where words[1] == "address":
            guard let owner = Owner(rawValue: String(words[2])) else { return nil }
            self = .givenAddress(owner)
        case ("group", 3) where words[1] == "invitation":
            guard let chat = Int64(words[2]) else { return nil }
            self = .groupInvitation(chat: chat)
        case ("member", 3):
            guard let chat = Int64(words[1]),
                let id = Hexadecimal.decode(words[2]).flatMap({ MemberID(bytes: $0) })
            else { return nil }
            self = .member(id, chat: chat)
        default: return nil
        }
    }
}

extension MemberConnectionTable.Stored {
    /// The reason of the member's connection.
    var reason: ConnectionReason { .member(state.member, chat: chat) }
}
