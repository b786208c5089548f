import Base
import ChatCore
import ChatProtocol

/// This profile's information for peers during a handshake. Uses the current name. All calls block.
struct OwnIntroduction: Sendable {
    let store: ProfileStore

    func profile() throws -> ContactProfile {
        let name = try store.read { try $0.directory.profiles.name(of: store.profile.id) }
        return ContactProfile(displayName: name ?? store.profile.displayName)
    }

    /// For contacts (`x.info`).
    func introduction() throws -> [UInt8] { try Self.encoded(.information(profile())) }

    /// For an address's owner (`x.contact`), with an id that reveals repetitions.
    func request() throws -> [UInt8] {
        let id = SharedMessageID(from: SystemRandomSource())
        return try Self.encoded(
            .contactRequest(MessageEvent.ContactRequest(profile: profile(), requestID: id)))
    }

    /// For a group's host, to accept a contact's invitation (`x.grp.acpt`).
    static func acceptance(of invitation: GroupInvitation) throws -> [UInt8] {
        try encoded(.group(.acceptance(invitation.invited.id)))
    }

    /// For another group member (`x.grp.mem.info`).
    func memberInformation(_ id: MemberID) throws -> [UInt8] {
        try Self.encoded(.group(.memberInformation(id, profile().forGroups)))
    }

    /// Data of a short link.
    func linkData() throws -> [UInt8] {
        LinkProfile.contact(try profile(), message: nil, isBusiness: false).encoded
    }

    private static func encoded(_ event: MessageEvent) throws -> [UInt8] {
        try ChatBody.write(
            ChatMessage(event, id: nil), capacity: .postQuantumInformation, compression: Zstandard.installed)
    }
}
