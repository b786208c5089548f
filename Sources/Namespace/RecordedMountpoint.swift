/// A path at which a profile was mounted.
public struct RecordedMountpoint: Hashable, Sendable {
    /// Absolute.
    public var path: String
    /// Start in seconds since 1970; older leftovers belong to another mount.
    public var since: Int64
    /// True if its leftovers were removed at unmount.
    public var isSwept: Bool

    public init(path: String, since: Int64, isSwept: Bool) {
        self.path = path
        self.since = since
        self.isSwept = isSwept
    }
}
