/// Settings for starting an official program.
public struct CoreProgramSettings: Sendable {
    /// Path; nil searches for `simplex-chat` in PATH.
    public var program: String?
    public var database: DatabaseFiles
    /// Existing private folders on one filesystem, outside every mount of ChatFS.
    public var filesFolder: String
    public var temporaryFolder: String
    /// Name of the first profile, for a missing database.
    public var newProfile: String?
    /// Asks the user for that name if `newProfile` is nil.
    public var askProfile: (@Sendable () async -> String?)?
    /// If false, chats are not started, so nothing is sent or received. Archives then need no stop, at which
    /// some builds exit.
    public var startsChats = true
    /// Additional arguments, such as own relays. No secrets, because other users see them.
    public var arguments: [String] = []
    /// Time from the start to the first answer; a new version may migrate a large database.
    public var startTimeout: Duration = .seconds(120)

    public init(database: DatabaseFiles, filesFolder: String, temporaryFolder: String) {
        self.database = database
        self.filesFolder = filesFolder
        self.temporaryFolder = temporaryFolder
    }
}
