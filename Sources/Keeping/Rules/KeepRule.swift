import Base
import ChatCore

/// The rule for receiving a chat's files before relays drop them, without a read.
public struct KeepRule: Hashable, Sendable {
    /// The kinds of messages to receive.
    public enum Kinds: String, Hashable, Sendable, CaseIterable {
        case never
        /// Pictures, videos and voice messages.
        case media
        case all
    }

    public enum Moment: String, Hashable, Sendable, CaseIterable {
        /// As soon as available.
        case arrival
        /// When half of its time on the relay has passed (`KeepTimes.late`).
        case expiring
    }

    public var kinds: Kinds
    /// Maximum file size in bytes.
    public var largest: UInt64
    /// Minimum free disk space in bytes.
    public var minimumFree: UInt64
    /// True to use metered connections too.
    public var usesMetered: Bool
    public var moment: Moment
    /// True to receive small pictures, videos and voice messages on arrival, as the SimpleX apps do (`ArrivalRule`),
    /// independent of the other fields.
    public var receivesSmallMedia: Bool

    public init(
        kinds: Kinds = .never, largest: UInt64 = FilePolicy.xftpLimit, minimumFree: UInt64 = 1 << 30,
        usesMetered: Bool = false, moment: Moment = .arrival, receivesSmallMedia: Bool = true
    ) {
        self.receivesSmallMedia = receivesSmallMedia
        self.kinds = kinds
        self.largest = largest
        self.minimumFree = minimumFree
        self.usesMetered = usesMetered
        self.moment = moment
    }
}

/// A chat's own settings; nil fields follow the profile.
public struct KeepOverride: Hashable, Sendable {
    public var kinds: KeepRule.Kinds?
    public var largest: UInt64?
    public var minimumFree: UInt64?
    public var usesMetered: Bool?
    public var moment: KeepRule.Moment?
    public var receivesSmallMedia: Bool?

    public init(
        kinds: KeepRule.Kinds? = nil, largest: UInt64? = nil, minimumFree: UInt64? = nil,
        usesMetered: Bool? = nil, moment: KeepRule.Moment? = nil, receivesSmallMedia: Bool? = nil
    ) {
        self.receivesSmallMedia = receivesSmallMedia
        self.kinds = kinds
        self.largest = largest
        self.minimumFree = minimumFree
        self.usesMetered = usesMetered
        self.moment = moment
    }

    public var isEmpty: Bool { self == KeepOverride() }

    /// Returns the settings with the non-nil fields of `change`.
    public func changed(by change: KeepOverride) -> KeepOverride {
        KeepOverride(
            kinds: change.kinds ?? kinds, largest: change.largest ?? largest,
            minimumFree: change.minimumFree ?? minimumFree, usesMetered: change.usesMetered ?? usesMetered,
            moment: change.moment ?? moment,
            receivesSmallMedia: change.receivesSmallMedia ?? receivesSmallMedia)
    }

    public func applied(to rule: KeepRule) -> KeepRule {
        KeepRule(
            kinds: kinds ?? rule.kinds, largest: largest ?? rule.largest,
            minimumFree: minimumFree ?? rule.minimumFree, usesMetered: usesMetered ?? rule.usesMetered,
            moment: moment ?? rule.moment,
            receivesSmallMedia: receivesSmallMedia ?? rule.receivesSmallMedia)
    }
}

/// The rules of a profile: one for all chats, and overrides for single chats.
public struct KeepRules: Hashable, Sendable {
    /// The profile's settings over the defaults.
    public var profile = KeepOverride()
    public var chats: [ChatReference: KeepOverride] = [:]

    public var usual: KeepRule { profile.applied(to: KeepRule()) }

    public func rule(for chat: ChatReference) -> KeepRule { chats[chat]?.applied(to: usual) ?? usual }

    /// Media that cores receive on arrival by themselves.
    public var arrivals: ArrivalRule.Choice {
        ArrivalRule.Choice(
            usual: usual.receivesSmallMedia,
            chats: chats.compactMapValues(\.receivesSmallMedia))
    }

    private var all: [KeepRule] { [usual] + chats.values.map { $0.applied(to: usual) } }

    /// True if any rule receives files.
    public var keepsAnything: Bool { all.contains { $0.kinds != .never } }
    /// True if the connection's cost matters.
    public var dependsOnCost: Bool { all.contains { $0.kinds != .never && !$0.usesMetered } }
}
