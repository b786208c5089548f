import Base
import ChatCore

/// What is received of a chat before its relays drop it, though nobody reads it.
public struct KeepRule: Hashable, Sendable {
    /// Which kinds of messages.
    public enum Kinds: String, Hashable, Sendable, CaseIterable {
        case never
        /// Pictures, videos and voice messages.
        case media
        case all
    }

    public enum Moment: String, Hashable, Sendable, CaseIterable {
        /// As soon as it can be had.
        case arrival
        /// When half of its time on the relay is over (`KeepTimes.late`).
        case expiring
    }

    public var kinds: Kinds
    /// Bytes of the largest file.
    public var largest: UInt64
    /// Bytes of the disk that must stay free.
    public var minimumFree: UInt64
    /// Also over connections that are paid for by what goes over them.
    public var usesMetered: Bool
    public var moment: Moment
    /// Whether small pictures, videos and voice messages are received at arrival as the SimpleX apps do it
    /// (`ArrivalRule`), whatever else the rule says.
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

/// What a chat has of its own; the rest is as the profile has it.
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

    /// With what is new in place of what was.
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

/// The rules of a profile: one for all chats, and what single ones have of their own.
public struct KeepRules: Hashable, Sendable {
    /// Of the profile, over what a rule is where nobody says anything.
    public var profile: KeepOverride
    public var chats: [ChatReference: KeepOverride]

    public init(profile: KeepOverride = KeepOverride(), chats: [ChatReference: KeepOverride] = [:]) {
        self.profile = profile
        self.chats = chats
    }

    public var usual: KeepRule { profile.applied(to: KeepRule()) }

    public func rule(for chat: ChatReference) -> KeepRule { chats[chat]?.applied(to: usual) ?? usual }

    /// What cores receive without being asked for.
    public var arrivals: ArrivalRule.Choice {
        ArrivalRule.Choice(
            usual: usual.receivesSmallMedia,
            chats: chats.compactMapValues(\.receivesSmallMedia))
    }

    private var all: [KeepRule] { [usual] + chats.values.map { $0.applied(to: usual) } }

    /// Whether anything is kept at all.
    public var keepsAnything: Bool { all.contains { $0.kinds != .never } }
    /// Whether it matters what the connection costs.
    public var dependsOnCost: Bool { all.contains { $0.kinds != .never && !$0.usesMetered } }
}
