import Agent
import Base
import ChatProtocol
import SMP

/// Why a profile has a connection: stored with it before the other side can say anything. What the other side says of
/// itself first must fit; nothing follows from anything else.
///
/// | reason | first information that fits |
/// |---|---|
/// | own invitation, requester, given invitation | x.info |
/// | given address of a person | x.info; x.grp.link.inv and x.grp.link.reject of a business |
/// | given address of a group | x.grp.link.inv, x.grp.link.reject |
/// | given address of an earlier version, whose kind was not stored | x.info, x.grp.link.inv, x.grp.link.reject |
/// | group invitation | x.ok |
/// | member | x.grp.mem.info of this member |
/// | own address, none | none |
enum ConnectionReason: Hashable, Sendable {
    /// A one-time link that this profile made.
    case ownInvitation
    /// The profile's address, at which strangers ask.
    case ownAddress
    /// Who asked at the profile's address and was accepted.
    case requester
    /// A one-time link that the user gave.
    case givenInvitation
    /// An address that the user gave.
    case givenAddress(Owner)
    /// The host of a group into which the contact of this chat invited, when the user accepted.
    case groupInvitation(chat: Int64)
    /// A member of the group of this chat, whom another member introduced.
    case member(MemberID, chat: Int64)

    /// Whose an address is, by its link.
    enum Owner: String, Hashable, Sendable, CaseIterable {
        case contact, group, unknown
    }

    /// Whether it is made for a group that this profile is in already, or joins.
    var isOfGroup: Bool {
        switch self {
        case .groupInvitation, .member: true
        case .ownInvitation, .ownAddress, .requester, .givenInvitation, .givenAddress: false
        }
    }

    /// Who named the server of the other side: a host names those of all members of its group. Strangers, of whom anybody
    /// can be any number, are one.
    func peer(of connection: ConnectionID) -> String {
        switch self {
        case .member(_, let chat): "group \(chat)"
        case .requester, .ownAddress: "strangers"
        case .ownInvitation, .givenInvitation, .givenAddress, .groupInvitation:
            "connection \(connection.number)"
        }
    }

    /// Whether somebody may say this first over such a connection.
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
    /// Of a link that the user gave.
    init(joining kind: LinkKind) {
        switch kind {
        case .invitation: self = .givenInvitation
        case .address: self = .givenAddress(.contact)
        case .group: self = .givenAddress(.group)
        }
    }

    /// As it is stored here and with the agent.
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

    /// nil for anything else.
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
    /// Why there is, or is to be, a connection.
    var reason: ConnectionReason { .member(state.member, chat: chat) }
}
