/// A place where a profile was mounted.
public struct RecordedMountpoint: Hashable, Sendable {
    /// Absolute.
    public var path: String
    /// Seconds since 1970: nothing that was kept before is of it.
    public var since: Int64
    /// What was kept of it was taken away at its end.
    public var isSwept: Bool

    public init(path: String, since: Int64, isSwept: Bool) {
        self.path = path
        self.since = since
        self.isSwept = isSwept
    }
}
