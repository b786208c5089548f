import Base
import CLinux
import ChatCore
import Glibc
import Posix

/// Requests to send whose outcome is not known: each a file in the profile's folder, named by the mark of what
/// is to be sent where, that holds the id of the message. Who asks for the same again gets the same id, by
/// which the core knows a repetition. Forgotten after a day. All calls block.
public struct UnansweredRequests: Sendable {
    /// How long a request is remembered that never got its answer.
    static let maxAge: Int64 = 24 * 3600
    private static let folderName = "unanswered"

    private let folder: OpenFile

    public init(profileFolder: String) throws(DesktopError) {
        do throws(SystemError) {
            let own = try OpenFile(
                profileFolder, flags: O_RDONLY | chatfs_o_directory | chatfs_o_nofollow)
            folder = try PrivateFolder.folder(Self.folderName, in: own)
        } catch {
            throw DesktopError(error)
        }
    }

    /// Notes a request durably, before anybody may act on it.
    ///
    /// - Parameters:
    ///   - mark: the same for requests of the same, hexadecimal.
    ///   - id: of the message, when this is the first request; hexadecimal.
    ///   - startsAnew: whether an earlier request is to be forgotten.
    /// - Returns: the id under which it is to be sent.
    public func begin(_ mark: String, id: String, startsAnew: Bool = false) throws(DesktopError) -> String {
        do throws(SystemError) {
            try forgetOld()
            if startsAnew { end(mark) }
            return try noted(mark, id)
        } catch {
            throw DesktopError(error)
        }
    }

    /// The request has its answer.
    public func end(_ mark: String) { unlinkat(folder.descriptor, mark, 0) }

    /// Two processes may ask for the same at once: the first name stands, whole from its beginning.
    private func noted(_ mark: String, _ id: String) throws(SystemError) -> String {
        let temporary = ".\(mark).\(id)"
        let file = try OpenFile(temporary, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, in: folder)
        defer { unlinkat(folder.descriptor, temporary, 0) }
        try file.write(Array(id.utf8), at: 0)
        try file.synchronise()
        while linkat(folder.descriptor, temporary, folder.descriptor, mark, 0) != 0 {
            guard errno == EEXIST else { throw SystemError(code: errno, operation: "note a request") }
            if let earlier = earlier(mark) { return earlier }
            // It has its answer by now, or is none.
            unlinkat(folder.descriptor, mark, 0)
        }
        try folder.synchronise()
        return id
    }

    private func earlier(_ mark: String) -> String? {
        // What cannot be read, or is too long, is no id.
        guard let file = try? OpenFile(mark, flags: O_RDONLY | O_NOFOLLOW, in: folder),
            let bytes = try? file.readAll(limit: 64)
        else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        return Hexadecimal.decode(text)?.count == 16 ? text : nil
    }

    private func forgetOld() throws(SystemError) {
        let now = Int64(time(nil))
        for name in try PrivateFolder.names(in: folder) {
            var status = stat()
            guard fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
                Int64(status.st_mtim.tv_sec) < now - Self.maxAge
            else { continue }
            unlinkat(folder.descriptor, name, 0)
        }
    }
}
