/// Earlier mountpoints and names, by which the desktop's leftovers are found.
extension Namespace {
    /// Older mountpoints are forgotten.
    private static let maxMountpoints = 16

    /// Returns where this profile was mounted, latest first. Blocks.
    /// - Throws: `.storage`.
    public func mountpoints() throws(NamespaceError) -> [RecordedMountpoint] {
        try read { try $0.mountpoints() }
    }

    /// Records a mountpoint of this profile durably. Blocks.
    /// - Throws: `.diskFull`, `.storage`.
    public func note(_ mountpoint: RecordedMountpoint) throws(NamespaceError) {
        try change(isDurable: true) { index, _ in try index.note(mountpoint, keeping: Self.maxMountpoints) }
    }

    /// Calls `body` with every used name, shown or not. Blocks.
    /// - Throws: `.storage`.
    public func eachPath(_ body: (EntryPath) -> Void) throws(NamespaceError) {
        try read { try $0.eachPath(body) }
    }
}
