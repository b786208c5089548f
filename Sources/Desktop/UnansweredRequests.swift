import Base
import CLinux
import ChatCore
import Cryptography
import Glibc
import Posix

/// Requests to send whose outcome is not known: each a file in the profile's folder, named by the mark of what
/// is to be sent where, that holds the id of the message. Who asks for the same again gets the same id, by
/// which the core knows a repetition. Forgotten after a day. All calls block.
///
/// A mark is a plain digest, from which a short text could be found by trying. Where the data is encrypted, the
/// file's name is therefore made of the mark and a key.
public struct UnansweredRequests: Sendable {
    /// How long a request is remembered that never got its answer.
    static let maxAge: Int64 = 24 * 3600
    private static let folderName = "unanswered"

    /// In front of names that were made with a key.
    private static let prefix = "k"

    private let folder: OpenFile
    private let key: SecretBytes?

    /// - Parameter key: from `key(from:)`; nil: the data is not encrypted.
    /// - Throws: `.system` where the folder cannot be opened or made.
    public init(profileFolder: String, key: SecretBytes?) throws(DesktopError) {
        self.key = key
        do throws(SystemError) {
            let own = try OpenFile(
                profileFolder, flags: O_RDONLY | chatfs_o_directory | chatfs_o_nofollow)
            folder = try PrivateFolder.folder(Self.folderName, in: own)
        } catch {
            throw DesktopError(error)
        }
    }

    /// The key of names, which tells nothing of the data key: a process that only sends may have it.
    public static func key(from dataKey: SecretBytes?) -> SecretBytes? {
        dataKey.map { BLAKE2b.derive("unanswered requests", [], from: $0) }
    }

    /// Removes what is older than a day, and gives what was noted before the data was encrypted a name made with the
    /// key. `begin` does it too.
    /// - Throws: `.system`.
    public func tidy() throws(DesktopError) {
        do throws(SystemError) {
            try forgetOld()
            try rename()
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
    /// - Throws: `.system`: then nothing may be sent.
    public func begin(_ mark: String, id: String, startsAnew: Bool = false) throws(DesktopError) -> String {
        try tidy()
        do throws(SystemError) {
            if startsAnew { end(mark) }
            return try noted(name(mark), id)
        } catch {
            throw DesktopError(error)
        }
    }

    /// The request has its answer.
    public func end(_ mark: String) { unlinkat(folder.descriptor, name(mark), 0) }

    private func name(_ mark: String) -> String {
        guard let key else { return mark }
        let digest = BLAKE2b.derive("mark", Array(mark.utf8), from: key)
        return Self.prefix + digest.withUnsafeBytes { Hexadecimal.encode(Array($0)) }
    }

    /// Two processes may ask for the same at once: the first name stands, whole from its beginning.
    private func noted(_ name: String, _ id: String) throws(SystemError) -> String {
        let temporary = ".\(name).\(id)"
        let file = try OpenFile(temporary, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, in: folder)
        defer { unlinkat(folder.descriptor, temporary, 0) }
        try file.write(Array(id.utf8), at: 0)
        try file.synchronise()
        while linkat(folder.descriptor, temporary, folder.descriptor, name, 0) != 0 {
            guard errno == EEXIST else { throw SystemError(code: errno, operation: "note a request") }
            if let earlier = earlier(name) { return earlier }
            // It has its answer by now, or is invalid.
            unlinkat(folder.descriptor, name, 0)
        }
        try folder.synchronise()
        return id
    }

    private func earlier(_ name: String) -> String? {
        // What cannot be read, or is too long, is no id.
        guard let file = try? OpenFile(name, flags: O_RDONLY | O_NOFOLLOW, in: folder),
            let bytes = try? file.readAll(limit: 64)
        else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        return Hexadecimal.decode(text)?.count == 16 ? text : nil
    }

    /// A request that was noted with a key already keeps that note.
    private func rename() throws(SystemError) {
        guard key != nil else { return }
        let plain = try PrivateFolder.names(in: folder).filter { !$0.hasPrefix(Self.prefix) }
        for old in plain {
            if old.hasPrefix(".") {
                // Of a process that was killed while it noted something; one that is at it has a key.
                if !old.hasPrefix("." + Self.prefix) { unlinkat(folder.descriptor, old, 0) }
                continue
            }
            if linkat(folder.descriptor, old, folder.descriptor, name(old), 0) != 0, errno != EEXIST {
                // Another process has done it. Any other failure leaves the note, which nobody would find: who asks for
                // the same must not get another id.
                guard errno == ENOENT else { throw SystemError(code: errno, operation: "keep a request") }
                continue
            }
            unlinkat(folder.descriptor, old, 0)
        }
        if !plain.isEmpty { try folder.synchronise() }
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
