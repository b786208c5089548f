import ChatCore
import XFTP

/// What a file's description says about where it leads. Parsing takes time in proportion to a text that a
/// stranger chose, so it is done before the transaction that decides about the file, never in it.
struct ReceivedDescription: Sendable {
    /// As it arrived. A secret.
    let text: String
    private let outcome: Result<[RelayAddress], ChatError>

    /// Blocks for some ten milliseconds with the longest text.
    init(parsing text: String) {
        self.text = text
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

    /// The relays that hold the file.
    /// - Throws: `.file(.damaged)` for a description that makes no sense.
    func relays() throws(ChatError) -> [RelayAddress] { try outcome.get() }
}
