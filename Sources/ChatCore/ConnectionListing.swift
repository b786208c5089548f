/// Lists all network connections of a core, even those without a chat. Every command throws `.invalidCommand`
/// for cores whose connections are managed elsewhere.
public protocol ConnectionListing: Sendable {
    /// Returns connections in order of their numbers.
    /// - Parameters:
    ///   - number: last number of the previous page; 0 starts at the first.
    ///   - count: maximum number of results.
    /// - Throws: the common errors (`OpenProfile`).
    func connections(after number: Int64, count: Int) async throws(ChatError) -> [ListedConnection]

    /// Deletes a connection without a chat, with its queues on servers. The peer is not told.
    /// - Throws: `.invalidCommand` for an unknown number, or a connection of a contact, group or address.
    func deleteConnection(_ number: Int64) async throws(ChatError)
}

/// A connection in the list.
public struct ListedConnection: Codable, Hashable, Sendable {
    /// Purpose of a connection.
    public enum Purpose: String, Codable, Hashable, Sendable, CaseIterable {
        case contact
        /// Connection to a group's host.
        case group
        case member
        case address
        /// An unused one-time link.
        case invitation
        /// A link that this profile has joined, or its own request.
        case joining
        /// An accepted requester.
        case accepted
        /// A connected peer without a valid introduction.
        case unknown
        /// The handshake has failed.
        case failed
        /// Being deleted on its servers.
        case ending
        /// The stored connection is unusable.
        case damaged
    }

    /// Never reused.
    public var number: Int64
    public var purpose: Purpose
    /// Reference of its chat.
    public var chat: String?
    /// Display name of its chat; nil without one.
    public var name: String?
    /// Addresses of the messaging servers with this profile's queues, without passwords.
    public var servers: [String]
    /// Why the handshake failed.
    public var problem: String?

    public init(
        number: Int64, purpose: Purpose, chat: ChatReference? = nil, name: String? = nil, servers: [String],
        problem: String? = nil
    ) {
        self.number = number
        self.purpose = purpose
        self.chat = chat?.description
        self.name = name
        self.servers = servers
        self.problem = problem
    }

    /// Whether it can be deleted by number, rather than with its chat or address.
    public var isDeletable: Bool {
        switch purpose {
        case .contact, .group, .member, .address, .ending: false
        case .invitation, .joining, .accepted, .unknown, .failed, .damaged: true
        }
    }
}

extension ChatError {
    public static func noSuchConnection(_ number: Int64) -> ChatError {
        ChatError(.invalidCommand, "There is no connection \(number): see 'chatfs connection list'.")
    }

    public static func connectionInUse(_ connection: ListedConnection) -> ChatError {
        let remedy =
            switch connection.purpose {
            case .address: "it is the address: 'chatfs address delete' deletes it"
            case .group, .member: "it belongs to a group: 'chatfs group leave' ends it"
            case .ending: "it is being deleted already"
            default: "it belongs to a contact: 'chatfs contact leave' ends it"
            }
        return ChatError(
            .invalidCommand, "Connection \(connection.number) is not deleted by itself: \(remedy).")
    }
}

extension ConnectionListing {
    /// For cores whose connections are managed elsewhere.
    public func connections(
        after number: Int64, count: Int
    ) async throws(ChatError) -> [ListedConnection] { throw .contactsMadeElsewhere }
    public func deleteConnection(_ number: Int64) async throws(ChatError) { throw .contactsMadeElsewhere }
}
