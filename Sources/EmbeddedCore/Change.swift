import ChatCore
import Store

/// A change of the store under way: what its transaction works with, and what follows when it has
/// been committed.
final class Change {
    let context: ItemRows.Context
    let profile: Int64
    private(set) var events: [ChatEvent] = []
    private(set) var ringsBell = false
    /// CryptoFiles, by their names in the files folder, that no row names any more.
    private(set) var abandonedFiles: [String] = []

    init(context: ItemRows.Context, profile: Int64) {
        self.context = context
        self.profile = profile
    }

    var connection: Connection { context.connection }

    /// For the listeners of this process.
    func tell(_ event: ChatEvent) { events.append(event) }

    /// For the process of another profile.
    func post(_ news: News, to profile: Int64) throws {
        try news.post(to: profile, connection)
        ringsBell = true
    }

    func abandon(_ storedName: String?) {
        if let storedName { abandonedFiles.append(storedName) }
    }

    func item(ofFile file: Int64) throws -> ChatItem? {
        try ItemRows.item(ofFile: file, of: profile, context)
    }

    /// Tells an event about a file's item as it is now; nothing when it has none.
    func tell(_ event: (ChatItem) -> ChatEvent, ofFile file: Int64) throws {
        if let item = try item(ofFile: file) { tell(event(item)) }
    }

    /// Sets the status of a file of this profile, if it has one of `expected`. False when it has not.
    func setStatus(
        _ status: String, ofFile file: Int64, from expected: [String], problem: FileProblem? = nil
    ) throws -> Bool {
        let found = try connection.first(
            "SELECT status FROM file WHERE id = ? AND profile = ?", file, profile
        ) { $0.text(0) }
        guard let found, expected.contains(found) else { return false }
        try connection.execute(
            "UPDATE file SET status = ?, problem = ?, problem_sentence = ? WHERE id = ?",
            status, problem?.kind.rawValue, problem?.sentence, file)
        return true
    }
}
