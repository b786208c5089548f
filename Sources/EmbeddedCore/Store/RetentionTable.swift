import Agent
import Base
import ChatCore
import ChatProtocol
import Store

/// Retention times of a profile's chats. In a chat between local profiles either side sets it. With a network
/// contact both must allow it. In a network group the owners set it.
struct RetentionTable {
    let connection: Connection
    let profile: Int64

    private var people: PeopleTable { PeopleTable(connection: connection, profile: profile) }
    private var chats: ChatTable { ChatTable(connection: connection) }

    private enum Counterpart {
        case here
        case contact(ContactProfile)
        case group(GroupPreferences)
    }

    private func counterpart(of chat: Int64) throws -> Counterpart {
        if let group = try GroupTable(connection: connection, profile: profile).group(ofChat: chat) {
            return .group(group.profile.preferences)
        }
        return try people.contact(ofChat: chat).map { .contact($0) } ?? .here
    }

    /// Time that new messages stay, in seconds; nil keeps them.
    func timeToLive(of chat: Int64) throws -> Int64? {
        switch try counterpart(of: chat) {
        case .here: try chats.timeToLive(of: chat)
        case .contact(let contact):
            contact.allowsDisappearing ? try chats.timeToLive(of: chat) : nil
        case .group(let preferences): preferences.timeToStay
        }
    }

    /// Returns the expiry of a message received now.
    /// - Parameter seconds: time claimed by the sender; nil keeps the message.
    func end(ofReceived seconds: Int?, in chat: Int64, at time: Timestamp) throws -> Timestamp? {
        guard let seconds else { return nil }
        let isAgreed =
            switch try counterpart(of: chat) {
            case .here: true
            case .contact(let contact): contact.allowsDisappearing
            case .group(let preferences): preferences.haveDisappear
            }
        return isAgreed ? time.advanced(by: .seconds(seconds)) : nil
    }

    /// Sets how long new messages of a chat stay, and tells network contacts.
    /// - Parameters:
    ///   - seconds: time in seconds; nil keeps messages.
    ///   - name: name of the profile.
    /// - Returns: the changed local sides.
    /// - Throws: `.invalidCommand` if this profile may not set it.
    func set(_ seconds: Int64?, in chat: Int64, as name: String) throws -> [ChatSide] {
        switch try counterpart(of: chat) {
        case .here: break
        case .contact(let contact):
            guard seconds == nil || contact.allowsDisappearing else {
                throw ChatError(
                    .invalidCommand,
                    "\(contact.displayName) does not allow that messages disappear: it takes the consent of both."
                )
            }
        case .group:
            throw ChatError(
                .invalidCommand,
                "In this group its owners set how long messages stay; without TIME the command prints it.")
        }
        let sides = try chats.setTimeToLive(seconds, in: ChatSide(profile: profile, chat: chat))
        if let id = try people.connection(ofChat: chat) {
            try introduce(over: id, as: name)
            // Store the value as the contact's too, so that its later change is noticed.
            if let known = try people.person(id)?.conversation {
                var contact = known.profile
                contact.preferences[.timedMessages] = contact.preferences[.timedMessages] ?? .yes
                contact.preferences.timeToLive = seconds.map { Int($0) }
                let conversation = ContactConversation(
                    profile: contact, versions: known.versions, hasEnded: known.hasEnded)
                try people.keep(conversation, of: id, chat: chat)
            }
        }
        return sides
    }

    /// Sends the profile's name and retention time to a contact (`x.info`). Official apps take an omitted
    /// time as the default.
    func introduce(over id: ConnectionID, as name: String) throws {
        var own = ContactProfile(displayName: name)
        if let chat = try people.person(id)?.chat,
            let seconds = try chats.timeToLive(of: chat)
        {
            own.preferences[.timedMessages] = .yes
            own.preferences.timeToLive = Int(seconds)
        }
        let introduction = ChatMessage(.information(own), id: SharedMessageID(from: SystemRandomSource()))
        try OutgoingTable(connection: connection, profile: profile).add(OutgoingMessage(introduction, to: id))
    }

    /// Applies a contact's retention time; the latest setting counts. Call it before storing the profile.
    /// - Returns: whether the time is unchanged.
    func follow(_ contact: ContactProfile, in chat: Int64) throws -> Bool {
        let before = try timeToLive(of: chat)
        try connection.execute(
            "UPDATE chat SET ttl = ? WHERE id = ?", contact.preferences.timeToLive.map { Int64($0) }, chat)
        return before == contact.timeToStay
    }
}

extension ContactProfile {
    /// This side always allows it.
    fileprivate var allowsDisappearing: Bool { preferences.allow(.timedMessages, to: Preferences()) }

    /// Time that messages stay according to this profile, in seconds; nil keeps them.
    var timeToStay: Int64? { allowsDisappearing ? preferences.timeToLive.map { Int64($0) } : nil }
}

extension GroupPreferences {
    fileprivate var haveDisappear: Bool { self[.timedMessages]?.isOn ?? false }

    /// Time that messages stay according to these preferences, in seconds; nil keeps them.
    var timeToStay: Int64? { haveDisappear ? timeToLive.map { Int64($0) } : nil }
}
