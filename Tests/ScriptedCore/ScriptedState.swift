/// The chats, messages and behaviour of a scripted core.
public struct ScriptedState: Sendable {
    public var history = ScriptedHistory()
    public var contacts: [Int64: String] = [1: "bob"]
    public var groups: [Int64: String] = [:]
    /// Prefixes of commands that get no answer.
    public var silent: Set<String> = []
    /// Prefixes of commands that are performed, and whose connection breaks before the answer.
    public var breaking: Set<String> = []
    /// Refusals by prefix of the command: the JSON of `chatError`.
    public var refusals: [String: String] = [:]
    /// Descriptions of files by number.
    public var descriptions: [Int64: String] = [:]
    /// Files whose upload is complete only in the core's second database.
    public var forgotten: Set<Int64> = []
    /// Files whose description is in the core's second database, and those that still have it there.
    public var described: Set<Int64> = []
    public var undescribed: Set<Int64> = []
    /// Messages that were sent without an item, because the process ended in between.
    public var orphans = 0
    /// The creation time of its profile.
    public var created = "2026-01-02 03:04:05.678901234"
    /// Whether it answers questions about its database (`/sql`).
    public var answersQuestions = true
    /// The reported path of its database. Tests that change the history without an event write there.
    public var databasePath = ""
    /// The errors of archives: JSON.
    public var archiveErrors: [String] = []
    /// The user's configured relays.
    public var relays: [String] = []
    /// Whether it uses a proxy.
    public var hidesAddress = false
    /// The user's aliases by reference of the chat.
    public var aliases: [String: String] = [:]
    /// The chats that the user left.
    public var left: Set<String> = []
    /// The messages about leaving: all, and those that no relay has yet.
    public var deliveries = 0
    public var undelivered = 0
    /// The user's address, whether it accepts requests automatically, and the pending requests by number.
    public var address: String?
    public var acceptsAutomatically = false
    public var requests: [Int64: String] = [:]
    /// The groups into which the first contact invites.
    public var invitedInto: Set<Int64> = []
    /// The contacts with a verified security code.
    public var verified: Set<Int64> = []
    /// The contact of each finished connection.
    public var connections: [Int64: Int64] = [:]
    /// The core's plans by link: the JSON of `connectionPlan`.
    public var plans: [String: String] = [:]
    /// Files without a chat by number: uploading, downloading, or uploaded.
    public var standalone: Set<Int64> = []
    var lastStandalone: Int64 = 900_000
    public var work = ScriptedWork()

    /// The error of a missing chat or group scope, or nil if it exists.
    func absence(of reference: String) -> String? {
        let chat = reference.prefix { $0 != "(" }
        guard let id = Int64(chat.dropFirst()) else { return nil }
        switch chat.first {
        case "@": return contacts[id] == nil ? "contactNotFound" : nil
        case "#": return groups[id] == nil ? "groupNotFound" : nil
        // Every profile has a folder of notes.
        case "*": return id == 1 ? nil : "noteFolderNotFound"
        default: return nil
        }
    }

    /// The JSON of the user in answers and events.
    public static let user =
        #""user":{"userId":1,"localDisplayName":"alice","profile":{"displayName":"alice"}}"#
}

/// The duration of commands. The real core has one database, so its commands wait for each other.
public struct ScriptedWork: Sendable {
    public var command: Duration = .zero
    /// For each message of a page.
    public var message: Duration = .zero

    public init() {}
}
