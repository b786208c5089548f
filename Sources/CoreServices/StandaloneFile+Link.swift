import ChatCore
import XFTP

extension StandaloneFile {
    /// What a link says of its file: nobody is asked.
    /// - Throws: `.file(.damaged)` for a text that is no link.
    public static func described(by link: String) async throws(ChatError) -> StandaloneFile {
        let description = try await FileLink.parsed(link).fileDescription
        return StandaloneFile(
            encryptedSize: description.redirect?.size ?? description.size,
            relays: description.relays.map(\.text))
    }
}

extension FileLink {
    /// Reads a link that a user gave to a core.
    /// - Throws: `.file(.damaged)` for a text that is no link.
    public static func parsed(_ link: String) async throws(ChatError) -> FileLink {
        do throws(XFTPError) {
            return try await parse(link)
        } catch {
            throw ChatError(.file(.damaged), error.sentence, cause: error)
        }
    }
}
