import Base
import ChatCore
import Store
import XFTP

/// What a file's description says about where it leads. Parsing takes time in proportion to a text that a
/// stranger chose, so it is done before the transaction that decides about the file, never in it.
struct ReceivedDescription: Sendable {
    private let outcome: Result<[RelayAddress], ChatError>

    /// Blocks for some ten milliseconds with the longest text.
    init(parsing text: String) {
        do throws(XFTPError) {
            let parsed = try FileDescription(parsing: text)
            // Only links have such descriptions. Followed, it would lead to relays that nobody has approved.
            outcome =
                parsed.redirect == nil
                ? .success(parsed.relays)
                : .failure(
                    ChatError(
                        .file(.damaged),
                        "The file's description only leads to that of another file: not followed."))
        } catch {
            outcome = .failure(ChatError(.file(.damaged), error.sentence, cause: error))
        }
    }

    /// The relays that hold the file; throws `.file(.damaged)` for a description that makes no sense.
    func relays() throws(ChatError) -> [RelayAddress] { try outcome.get() }
}

extension EmbeddedCore {
    /// The description of a received file as it arrived, nil while there is none. Blocks.
    func descriptionText(of file: FileID) throws -> String? {
        try read { context in
            try context.connection.first(
                "SELECT description FROM file WHERE id = ? AND profile = ?", file.rawValue, profile.id
            ) { $0.textOrNil(0) } ?? nil
        }
    }

    /// Blocks; not inside a transaction.
    func parsed(_ description: String) -> ReceivedDescription {
        assert(
            !directory.database.isInTransaction, "a description is parsed while everybody else waits")
        return ReceivedDescription(parsing: description)
    }

    /// Refuses a description that makes no sense or whose relays may not be contacted.
    func check(
        _ description: ReceivedDescription, approvedNow: Bool, _ connection: Connection
    ) throws {
        try relayRules(connection).check(description.relays(), approvedNow: approvedNow)
    }

    /// The descriptions of those of the items' files that would begin by themselves now. Blocks; not inside
    /// a transaction.
    func descriptionsToBegin(ofItems items: [Int64]) throws -> [FileID: ReceivedDescription] {
        let wanted = try read { context in
            try items.compactMap { id -> FileID? in
                guard let item = try ItemRows.item(id, of: profile.id, context), let file = item.file,
                    try isWanted(item, file, context.connection)
                else { return nil }
                return file.id
            }
        }
        var descriptions: [FileID: ReceivedDescription] = [:]
        for file in wanted {
            if let text = try descriptionText(of: file) { descriptions[file] = parsed(text) }
        }
        return descriptions
    }
}
