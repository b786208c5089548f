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
        let answer = try await connection.answer(.upload(user: profile, path: path), timeout: .seconds(60))
        guard case .sndStandaloneFileCreated(let file) = answer else {
            throw OfficialCoreError(.notUnderstood, "The SimpleX core did not start the upload.").chatError
        }
        return file
    }

    func download(_ link: String, to path: String) async throws(ChatError) -> FileID {
        let answer = try await connection.answer(
            .download(user: profile, link: link, path: path), timeout: .seconds(60))
        guard case .rcvStandaloneFileCreated(let file) = answer else {
            throw OfficialCoreError(.notUnderstood, "The SimpleX core did not start the download.").chatError
        }
        return file
    }

    func note(redirect: FileID, of file: FileID) { redirects.withLock { $0[redirect] = file } }

    /// Returns the file that a redirect file describes, else `file`.
    func described(by file: FileID) -> FileID { redirects.withLock { $0[file] ?? file } }
}
