import Agent
import Base
import ChatCore
import ChatProtocol
import Store

/// How long messages of the chats of a profile stay, whoever they are with. Between profiles of one data directory the
/// chat says so; with somebody on the network both have to allow it, and either sets it; in a group on the network
/// those who own it do.
struct RetentionTable {
    private let connection: Connection
    private let profile: Int64

    init(_ connection: Connection, of profile: Int64) {
        self.connection = connection
        self.profile = profile
    }

    private enum Counterpart {
        case here
        case contact(ContactProfile)
        case group(GroupPreferences)
    }

    private func counterpart(of chat: Int64) throws -> Counterpart {
        if let group = try GroupTable(connection, of: profile).group(ofChat: chat) {
            return .group(group.profile.preferences)
        }
        return try PeopleTable(connection, of: profile).contact(ofChat: chat).map { .contact($0) } ?? .here
    }

    /// Of messages that are sent now, in seconds; nil: they stay.
    func timeToLive(of chat: Int64) throws -> Int64? {
        switch try counterpart(of: chat) {
        case .here: try ChatTable(connection).timeToLive(of: chat)
        case .contact(let contact):
            contact.allowsDisappearing ? try ChatTable(connection).timeToLive(of: chat) : nil
        case .group(let preferences): preferences.timeToStay
        }
    }

    /// When a message is gone again that is taken in now.
    /// - Parameter seconds: as its sender has it; nil: it stays.
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

    /// Has messages disappear that are sent from now on by anybody in a chat, and tells who is on the network.
    /// - Parameters:
    ///   - seconds: nil: they stay.
    ///   - name: of the profile.
    /// - Returns: the sides of this data directory that changed.
    /// - Throws: `.invalidCommand` where it is not this profile's to say.
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
        let sides = try ChatTable(connection).setTimeToLive(
            seconds, in: ChatSide(profile: profile, chat: chat))
        let people = PeopleTable(connection, of: profile)
        if let id = try people.connection(ofChat: chat) {
            try introduce(over: id, as: name)
            // So that it is heard when they say once more what they said before.
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

    /// Has the agent tell somebody how the profile is called, and after which time messages of their chat disappear:
    /// official programs take what is not said there for the default.
    func introduce(over id: ConnectionID, as name: String) throws {
        var own = ContactProfile(displayName: name)
        if let chat = try PeopleTable(connection, of: profile).person(id)?.chat,
            let seconds = try ChatTable(connection).timeToLive(of: chat)
        {
            own.preferences[.timedMessages] = .yes
            own.preferences.timeToLive = Int(seconds)
        }
        let introduction = ChatMessage(.information(own), id: SharedMessageID(from: SystemRandomSource()))
        try OutgoingTable(connection, of: profile).add(OutgoingMessage(introduction, to: id))
    }

    /// The contact of a chat has said what it wants: whoever said so last has it. Before it is stored that they have said so.
    /// - Returns: whether messages that are sent from now on stay as long as before.
    func follow(_ contact: ContactProfile, in chat: Int64) throws -> Bool {
        let before = try timeToLive(of: chat)
        try connection.execute(
            "UPDATE chat SET ttl = ? WHERE id = ?", contact.preferences.timeToLive.map { Int64($0) }, chat)
        return before == contact.timeToStay
    }
}

extension ContactProfile {
    /// This side always does.
    fileprivate var allowsDisappearing: Bool { preferences.allow(.timedMessages, to: Preferences()) }

    /// How long messages stay that are sent after it has said this, in seconds; nil: for good.
    var timeToStay: Int64? { allowsDisappearing ? preferences.timeToLive.map { Int64($0) } : nil }
}

extension GroupPreferences {
    fileprivate var haveDisappear: Bool { self[.timedMessages]?.isOn ?? false }

    /// The same.
    var timeToStay: Int64? { haveDisappear ? timeToLive.map { Int64($0) } : nil }
}
