/// Files on the disk of the stage, without any filesystem of a program.
enum PlainFiles {
    /// What they are called in the report.
    static let name = "plain filesystem"
}
