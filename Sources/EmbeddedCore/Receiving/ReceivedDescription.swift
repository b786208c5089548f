import ChatCore
import XFTP

/// What a file's description says about where it leads. Parsing takes time in proportion to a text that a
/// stranger chose, so it is done before the transaction that decides about the file, never in it.
struct ReceivedDescription: Sendable {
    /// As it arrived. A secret.
    let text: String
    private let outcome: Result<[RelayAddress], ChatError>

    /// Blocks for some ten milliseconds with the longest text.
    /// - Parameter size: bytes of content that the message says; nil if the user asks for the file of a link.
    init(parsing text: String, size: UInt64?) {
        self.text = text
        do throws(XFTPError) {
            let parsed = try FileDescription(parsing: text)
            // Only links have such descriptions. Followed, it would lead to relays that nobody has approved.
            if parsed.redirect != nil {
                outcome = Self.refused(
                    "The file's description only leads to that of another file: not followed.")
            } else if let size, !ChunkPlan.fits(streamSize: parsed.size, content: size) {
                outcome = Self.refused(
                    "The file's description is that of a file of another size: not fetched.")
            } else {
                outcome = .success(parsed.relays)
            }
        } catch {
            outcome = .failure(ChatError(.file(.damaged), error.sentence, cause: error))
        }
    }

    private static func refused(_ sentence: String) -> Result<[RelayAddress], ChatError> {
        .failure(ChatError(.file(.damaged), sentence))
    }

    /// The relays that hold the file.
    /// - Throws: `.file(.damaged)` for a description that makes no sense, or is not of this file.
    func relays() throws(ChatError) -> [RelayAddress] { try outcome.get() }
}
