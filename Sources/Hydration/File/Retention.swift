/// Why a file is received to its end and kept whether or not somebody reads it.
struct Retention: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    /// By command, until it is unpinned: kept whole, whatever else is evicted.
    static let pinned = Retention(rawValue: 1)
    /// Read past its first chunk, until it is here or will never come.
    static let unfinished = Retention(rawValue: 2)
    /// A rule wants it before its relays drop it. Not remembered: who has the rule says it again.
    static let kept = Retention(rawValue: 4)
}
