import Base
import ChatCore

/// A request about keep rules. The process that has the profile carries it out: the command itself, or the daemon of
/// its mount.
public struct KeepRequest: ControlRequest {
    /// The resulting rules.
    public typealias Answer = [ListedRule]

    public enum Action: String, Codable, Hashable, Sendable {
        case show, set
        /// Remove the rule.
        case reset
    }

    public var action: Action
    /// The chat's name as the user typed it (`NamedChats`); nil for the rule of all chats.
    public var chat: String?
    /// `never`, `media` or `all`. This and the following fields keep their value if nil.
    public var what: String?
    /// Maximum file size in bytes.
    public var largest: UInt64?
    /// Minimum free disk space in bytes.
    public var minimumFree: UInt64?
    public var metered: Bool?
    /// `arrival` or `expiring`.
    public var when: String?
    /// True to receive small media on arrival (`ArrivalRule`).
    public var autoReceive: Bool?

    public var method: ControlMethod { .rules }

    public init(_ action: Action, chat: String? = nil) {
        self.action = action
        self.chat = chat
    }
}

/// The rule of all chats, or of one.
public struct ListedRule: Codable, Hashable, Sendable {
    /// The chat's reference; nil for the rule of all chats without their own.
    public var chat: String?
    public var name: String?
    public var what: String
    /// Maximum file size in bytes.
    public var largest: UInt64
    /// Minimum free disk space in bytes.
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
