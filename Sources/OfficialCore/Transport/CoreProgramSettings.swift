/// How an official program is started and what it is given.
public struct CoreProgramSettings: Sendable {
    /// `simplex-chat` is looked for in PATH when this is nil.
    public var program: String?
    public var database: DatabaseFiles
    /// Existing private folders on one filesystem, outside every mount of ChatFS.
    public var filesFolder: String
    public var temporaryFolder: String
    /// Name for the profile that is made when there is no database yet.
    public var newProfile: String?
    /// Asked for that name when `newProfile` is nil.
    public var askProfile: (@Sendable () async -> String?)?
    /// Whether its chats are started with it. Where they are not, nothing is sent or received, and nothing has to
    /// be stopped before an archive is written or read: some builds end when they are told to.
    public var startsChats = true
    /// More for the program's command line, such as relays of one's own. No secrets: others see it.
    public var arguments: [String] = []
    /// From the start to the first answer; a new version may rebuild a large database.
    public var startTimeout: Duration = .seconds(120)

    public init(database: DatabaseFiles, filesFolder: String, temporaryFolder: String) {
        self.database = database
        self.filesFolder = filesFolder
        self.temporaryFolder = temporaryFolder
    }
}
