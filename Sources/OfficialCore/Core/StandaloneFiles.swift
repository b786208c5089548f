import Base
import ChatCore

/// Files outside of chats, through the core.
final class StandaloneFiles: Sendable {
    private let connection: CoreConnection
    private let profile: Int64
    /// Redirect files of uploads, with the files that they describe.
    private let redirects = Lock<[FileID: FileID]>([:])

    init(_ connection: CoreConnection, of profile: Profile) {
        self.connection = connection
        self.profile = profile.id
    }

    func upload(_ path: String) async throws(ChatError) -> FileID {
        do throws(OfficialCoreError) {
            guard
                case .sndStandaloneFileCreated(let file) = try await connection.ask(
                    .upload(user: profile, path: path), timeout: .seconds(60))
            else { throw OfficialCoreError(.notUnderstood, "The SimpleX core did not start the upload.") }
            return file
        } catch {
            throw error.chatError
        }
    }

    func download(_ link: String, to path: String) async throws(ChatError) -> FileID {
        do throws(OfficialCoreError) {
            guard
                case .rcvStandaloneFileCreated(let file) = try await connection.ask(
                    .download(user: profile, link: link, path: path), timeout: .seconds(60))
            else { throw OfficialCoreError(.notUnderstood, "The SimpleX core did not start the download.") }
            return file
        } catch {
            throw error.chatError
        }
    }

    func note(redirect: FileID, of file: FileID) { redirects.withLock { $0[redirect] = file } }

    /// Returns the file that a redirect file describes, else `file`.
    func described(by file: FileID) -> FileID { redirects.withLock { $0[file] ?? file } }
}
