import ChatCore
import XFTP

extension StandaloneFile {
    /// Reads the facts of a file from its link without a connection.
    /// - Throws: `.file(.damaged)` for a malformed link.
    public static func described(by link: String) async throws(ChatError) -> StandaloneFile {
        let description = try await FileLink.parsed(link).fileDescription
        return StandaloneFile(
            encryptedSize: description.redirect?.size ?? description.size,
            relays: description.relays.map(\.text))
    }
}

extension FileLink {
    /// Reads a link that a user passed to a core.
    /// - Throws: `.file(.damaged)` for a malformed link.
    public static func parsed(_ link: String) async throws(ChatError) -> FileLink {
        do throws(XFTPError) {
            return try await parse(link)
        } catch {
            throw ChatError(.file(.damaged), error.sentence, cause: error)
        }
    }
}
