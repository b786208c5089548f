import Base
import ChatCore
import ChatProtocol

/// What others are told of this profile when a connection is made. It may have been renamed since it was opened. All
/// calls block.
struct OwnIntroduction: Sendable {
    let store: ProfileStore

    func profile() throws -> ContactProfile {
        let name = try store.read { try $0.directory.profiles.name(of: store.profile.id) }
        return ContactProfile(displayName: name ?? store.profile.displayName)
    }

    /// For contacts.
    func introduction() throws -> [UInt8] { try Self.encoded(.information(profile())) }

    /// For whose address it is: who asks, in a way that is known again when it is asked twice.
    func request() throws -> [UInt8] {
        let id = SharedMessageID(from: SystemRandomSource())
        return try Self.encoded(
            .contactRequest(MessageEvent.ContactRequest(profile: profile(), requestID: id)))
    }

    /// For the host of a group into which a contact invites.
    static func acceptance(of invitation: GroupInvitation) throws -> [UInt8] {
        try encoded(.group(.acceptance(invitation.invited.id)))
    }

    /// For another member of a group.
    func memberInformation(_ id: MemberID) throws -> [UInt8] {
        try Self.encoded(.group(.memberInformation(id, profile().forGroups)))
    }

    /// For who opens a short link.
    func linkData() throws -> [UInt8] {
        LinkProfile.contact(try profile(), message: nil, isBusiness: false).encoded
    }

    private static func encoded(_ event: MessageEvent) throws -> [UInt8] {
        try ChatBody.write(
            ChatMessage(event, id: nil), capacity: .postQuantumInformation, compression: Zstandard.installed)
    }
}
