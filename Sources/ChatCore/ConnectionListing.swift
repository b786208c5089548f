/// Every connection that a core has over its network, also those that lead into no chat, so that nothing is left that
/// nobody sees. Where connections are made elsewhere, every command throws `.invalidCommand`.
public protocol ConnectionListing: OpenProfile {
    /// In the order of their numbers.
    /// - Parameters:
    ///   - number: those after it; 0: from the first on.
    ///   - count: at most so many.
    /// - Throws: as every command (`OpenProfile`).
    func connections(after number: Int64, count: Int) async throws(ChatError) -> [ListedConnection]

    /// Deletes a connection that leads into no chat, with its queues at their servers. Nobody is told.
    /// - Throws: `.invalidCommand` where there is none of this number, or it belongs to a contact, a group or the address.
    func deleteConnection(_ number: Int64) async throws(ChatError)
}

/// A connection in the list of all.
public struct ListedConnection: Codable, Hashable, Sendable {
    /// What it is for.
    public enum Purpose: String, Codable, Hashable, Sendable, CaseIterable {
        case contact
        /// With who has taken the profile into a group.
        case group
        case member
        case address
        /// A link for one person that nobody has used.
        case invitation
        /// Somebody's link that this profile has used, or a request of its own.
        case joining
        /// Somebody who asked at the address and was accepted.
        case accepted
        /// Somebody who is connected, and has not said in a way that is known here who they are.
        case unknown
        /// It could not be made.
        case failed
        /// It goes when its servers have been told.
        case ending
        /// What is stored of it cannot be used.
        case damaged
    }

    /// Never given twice.
    public var number: Int64
    public var purpose: Purpose
    /// Of the chat that it is for, a reference.
    public var chat: String?
    /// Of the chat; nil where there is none.
    public var name: String?
    /// The messaging servers on which this profile has queues for it, as addresses without passwords.
    public var servers: [String]
    /// Why it could not be made.
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

    /// Whether it is deleted by its number, and not with the chat or the address that it belongs to.
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
    /// For cores whose connections are made elsewhere.
    public func connections(
        after number: Int64, count: Int
    ) async throws(ChatError) -> [ListedConnection] { throw .contactsMadeElsewhere }
    public func deleteConnection(_ number: Int64) async throws(ChatError) { throw .contactsMadeElsewhere }
}
