/// Files on the stage's disk, without a filesystem in user space.
enum PlainFiles {
    /// Their name in the report.
    static let name = "plain filesystem"
}
