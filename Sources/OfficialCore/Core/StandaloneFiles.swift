import ChatCore
import XFTP

/// Files that belong to no chat.
extension OfficialCore {
    public func uploadStandaloneFile(_ path: String) async throws(ChatError) -> FileID {
        do throws(OfficialCoreError) {
            guard
                case .sndStandaloneFileCreated(let file) = try await ask(
                    .upload(user: profile.id, path: path), timeout: .seconds(60))
            else { throw OfficialCoreError(.notUnderstood, "The SimpleX core did not begin to upload.") }
            return file.id
        } catch {
            throw error.chatError
        }
    }

    public func downloadStandaloneFile(_ link: String, to path: String) async throws(ChatError) -> FileID {
        do throws(OfficialCoreError) {
            guard
                case .rcvStandaloneFileCreated(let file) = try await ask(
                    .download(user: profile.id, link: link, path: path), timeout: .seconds(60))
            else { throw OfficialCoreError(.notUnderstood, "The SimpleX core did not begin to download.") }
            return file.id
        } catch {
            throw error.chatError
        }
    }

    /// From the link itself: the core would only say what its sender wrote into it.
    public func standaloneFileInfo(_ link: String) async throws(ChatError) -> StandaloneFile {
        do throws(XFTPError) {
            let description = try await FileLink.parse(link).fileDescription
            return StandaloneFile(
                encryptedSize: description.redirect?.size ?? description.size,
                relays: description.relays.map(\.text))
        } catch {
            throw ChatError(.file(.damaged), error.sentence, cause: error)
        }
    }
}
