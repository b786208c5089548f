/// The chats and messages of a scripted core, and how it behaves.
public struct ScriptedState: Sendable {
    public var history = ScriptedHistory()
    public var contacts: [Int64: String] = [1: "bob"]
    public var groups: [Int64: String] = [:]
    /// Commands that begin like this are not answered.
    public var silent: Set<String> = []
    /// Commands that begin like this are carried out, and the connection breaks before the answer.
    public var breaking: Set<String> = []
    /// Refusals by the beginning of the command: the JSON of `chatError`.
    public var refusals: [String: String] = [:]
    /// Descriptions of files by the files' numbers.
    public var descriptions: [Int64: String] = [:]
    /// Files whose upload is complete in the core's second database and not in the first.
    public var forgotten: Set<Int64> = []
    /// Files whose description was given to the core's second database, and those of them whose description has not
    /// left it.
    public var described: Set<Int64> = []
    public var undescribed: Set<Int64> = []
    /// Messages that were sent and got no item, since the process ended in between.
    public var orphans = 0
    /// When its profile was made.
    public var created = "2026-01-02 03:04:05.678901234"
    /// Whether it answers questions about its database (`/sql`).
    public var answersQuestions = true
    /// The file that it says its chats are kept in. Nothing is written there: who changes the history
    /// without an event does that.
    public var databasePath = ""
    /// What it says could not be taken into an archive or out of it: JSON.
    public var archiveErrors: [String] = []
    /// Relays that the user has configured.
    public var relays: [String] = []
    /// Whether it talks to relays through a proxy.
    public var hidesAddress = false
    /// The user's own names, by references of chats.
    public var aliases: [String: String] = [:]
    /// Chats that the user has left.
    public var left: Set<String> = []
    /// Messages that say so to the others: all so far, and those that no relay has yet.
    public var deliveries = 0
    public var undelivered = 0
    /// The user's address, whether requests at it are accepted automatically, and who waits, by numbers.
    public var address: String?
    public var acceptsAutomatically = false
    public var requests: [Int64: String] = [:]
    /// Groups into which the first contact invites.
    public var invitedInto: Set<Int64> = []
    /// Contacts whose security code was compared.
    public var verified: Set<Int64> = []
    /// Which contact a connection became.
    public var connections: [Int64: Int64] = [:]
    /// What the core says of links, by the links: the JSON of `connectionPlan`.
    public var plans: [String: String] = [:]
    /// Files that belong to no chat, by their numbers: being uploaded or downloaded, or uploaded.
    public var standalone: Set<Int64> = []
    var lastStandalone: Int64 = 900_000
    public var work = ScriptedWork()

    /// Why there is no such chat, or part of a group, by the name of the error; nil where there is one.
    func absence(of reference: String) -> String? {
        let chat = reference.prefix { $0 != "(" }
        guard let id = Int64(chat.dropFirst()) else { return nil }
        switch chat.first {
        case "@": return contacts[id] == nil ? "contactNotFound" : nil
        case "#": return groups[id] == nil ? "groupNotFound" : nil
        // Every profile has one folder of notes.
        case "*": return id == 1 ? nil : "noteFolderNotFound"
        default: return nil
        }
    }

    /// JSON of the user, as answers and events have it.
    public static let user =
        #""user":{"userId":1,"localDisplayName":"alice","profile":{"displayName":"alice"}}"#
}

/// What commands cost: the real core works on one database, so its commands wait for each other.
public struct ScriptedWork: Sendable {
    public var command: Duration = .zero
    /// For each message of a page.
    public var message: Duration = .zero

    public init() {}
}
