import Base
import ChatCore

/// What a user wants of the rules about what is received before relays drop it: carried out by the command itself or,
/// asked with one line of JSON, by the daemon of a mount.
public struct KeepRequest: Codable, Hashable, Sendable {
    public enum Action: String, Codable, Hashable, Sendable {
        case show, set
        /// As if nothing had ever been said.
        case reset
    }

    public var keep: Action
    /// As the user named it (`NamedChats`); missing for all chats.
    public var chat: String?
    /// `never`, `media` or `all`. What is missing stays as it is; of the others too.
    public var what: String?
    /// Bytes.
    public var largest: UInt64?
    /// Bytes.
    public var minimumFree: UInt64?
    public var metered: Bool?
    /// `arrival` or `expiring`.
    public var when: String?
    /// Small media at arrival (`ArrivalRule`).
    public var autoReceive: Bool?

    public init(_ action: Action, chat: String? = nil) {
        keep = action
        self.chat = chat
    }
}

/// The answer: the rules as they are then.
public struct KeepAnswer: Codable, Hashable, Sendable {
    /// That of all chats, or of one.
    public struct Rule: Codable, Hashable, Sendable {
        /// The reference of a chat; nil for all that have no rule of their own.
        public var chat: String?
        public var name: String?
        public var what: String
        /// Bytes.
        public var largest: UInt64
        /// Bytes.
        public var minimumFree: UInt64
        public var metered: Bool
        public var when: String
        public var autoReceive: Bool

        public init(
            chat: String?, name: String?, what: String, largest: UInt64, minimumFree: UInt64, metered: Bool,
            when: String, autoReceive: Bool = true
        ) {
            self.autoReceive = autoReceive
            self.chat = chat
            self.name = name
            self.what = what
            self.largest = largest
            self.minimumFree = minimumFree
            self.metered = metered
            self.when = when
        }
    }

    public var rules: [Rule]?
    /// Why not.
    public var problem: String?

    public init(rules: [Rule]? = nil, problem: String? = nil) {
        self.rules = rules
        self.problem = problem
    }
}
