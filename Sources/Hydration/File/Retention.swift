/// Reasons to receive a file completely and keep it without readers.
struct Retention: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    /// Pinned by command until unpinned; never evicted.
    static let pinned = Retention(rawValue: 1)
    /// Read beyond its first chunk; until it is complete or failed permanently.
    static let unfinished = Retention(rawValue: 2)
    /// A keep rule wants it before its relays delete it. Not stored; the rule requests it again after a
    /// mount.
    static let kept = Retention(rawValue: 4)
}
