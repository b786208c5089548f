/// What the desktop may have kept of earlier mounts is found by the places where they were and the names in them.
extension Namespace {
    /// Older ones are forgotten.
    private static let maxMountpoints = 16

    /// Where this profile was mounted, the last first. Blocks.
    /// - Throws: `.storage`.
    public func mountpoints() throws(NamespaceError) -> [RecordedMountpoint] {
        try read { try $0.mountpoints() }
    }

    /// The profile is mounted there, or was until now. Blocks, and is durable.
    /// - Throws: `.diskFull`, `.storage`.
    public func note(_ mountpoint: RecordedMountpoint) throws(NamespaceError) {
        try change(isDurable: true) { index, _ in try index.note(mountpoint, keeping: Self.maxMountpoints) }
    }

    /// Calls `body` with every name that is in use, shown or not. Blocks.
    /// - Throws: `.storage`.
    public func eachPath(_ body: (EntryPath) -> Void) throws(NamespaceError) {
        try read { try $0.eachPath(body) }
    }
}
