import ChatCore
import XFTP

/// The parsed description of a received file. Parse it before the transaction that uses it: parsing time
/// grows with a text that a stranger chose.
struct ReceivedDescription: Sendable {
    /// The received text. Secret.
    let text: String
    private let outcome: Result<[RelayAddress], ChatError>

    /// Blocks for about 10 ms with the longest text.
    /// - Parameter size: plaintext size announced by the message, in bytes; nil for a link given by the user.
    init(parsing text: String, size: UInt64?) {
        self.text = text
        do throws(XFTPError) {
            let parsed = try FileDescription(parsing: text)
            // Only links have redirect descriptions. Following one would lead to unapproved relays.
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

    /// Returns the relays that hold the file.
    /// - Throws: `.file(.damaged)` for an invalid description or one of another file.
    func relays() throws(ChatError) -> [RelayAddress] { try outcome.get() }
}
