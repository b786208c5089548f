import Base
import CLinux
import ChatCore
import Cryptography
import Glibc
import Posix

/// Send requests without a known outcome. Each is a file in the profile's directory, named after the mark of the
/// content and the destination. It contains the message id and the time as `BootTime`. An equal request gets the same
/// id, so that the core recognises the repetition. Requests are forgotten after a day. All calls block.
///
/// A mark is a plain digest, from which a short text could be guessed. In encrypted data, the file name is therefore
/// derived from mark and key.
public struct UnansweredRequests: Sendable {
    /// Age in seconds at which an unanswered request is forgotten.
    static let maxAge: Int64 = 24 * 3600
    private static let folderName = "unanswered"

    /// Prefix of names derived with a key.
    private static let prefix = "k"

    /// Maximum length of a file in bytes.
    private static let longest = 256

    private let folder: OpenFile
    private let key: SecretBytes?
    private let moment: @Sendable () -> BootTime?

    /// - Parameter key: From `key(from:)`; nil if the data is not encrypted.
    /// - Throws: `.system` if the directory cannot be opened or created.
    public init(profileFolder: String, key: SecretBytes?) throws(DesktopError) {
        try self.init(profileFolder: profileFolder, key: key, moment: { BootTime.now() })
    }

    init(
        profileFolder: String, key: SecretBytes?, moment: @escaping @Sendable () -> BootTime?
    ) throws(DesktopError) {
        self.key = key
        self.moment = moment
        do throws(SystemError) {
            let own = try OpenFile(
                profileFolder, flags: O_RDONLY | chatfs_o_directory | chatfs_o_nofollow)
            folder = try PrivateFolder.folder(Self.folderName, in: own)
        } catch {
            throw DesktopError(error)
        }
    }

    /// Derives the key of names. It reveals nothing of the data key, so a process that only sends may have it.
    public static func key(from dataKey: SecretBytes?) -> SecretBytes? {
        dataKey.map { BLAKE2b.derive("unanswered requests", [], from: $0) }
    }

    /// Removes requests older than a day, and renames those recorded before the data was encrypted. `begin` does it
    /// too.
    /// - Throws: `.system`.
    public func tidy() throws(DesktopError) {
        do throws(SystemError) {
            try forgetOld()
            try rename()
        } catch {
            throw DesktopError(error)
        }
    }

    /// Records a request durably, before it is sent.
    /// - Parameters:
    ///   - mark: Equal for equal requests; hexadecimal.
    ///   - id: Message id in case this is the first request; hexadecimal.
    ///   - startsAnew: True to forget an earlier request.
    /// - Returns: The message id to use.
    /// - Throws: `.system`; the request must not be sent then.
    public func begin(_ mark: String, id: String, startsAnew: Bool = false) throws(DesktopError) -> String {
        try tidy()
        do throws(SystemError) {
            if startsAnew { end(mark) }
            return try noted(name(mark), id)
        } catch {
            throw DesktopError(error)
        }
    }

    /// Forgets an answered request.
    public func end(_ mark: String) { unlinkat(folder.descriptor, name(mark), 0) }

    private func name(_ mark: String) -> String {
        guard let key else { return mark }
        let digest = BLAKE2b.derive("mark", Array(mark.utf8), from: key)
        return Self.prefix + digest.withUnsafeBytes { Hexadecimal.encode(Array($0)) }
    }

    /// Of two concurrent processes the first one's file wins; it is complete when it appears.
    private func noted(_ name: String, _ id: String) throws(SystemError) -> String {
        let temporary = ".\(name).\(id)"
        let file = try OpenFile(temporary, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, in: folder)
        defer { unlinkat(folder.descriptor, temporary, 0) }
        let place = moment().map { "\n\($0.boot) \($0.seconds)" } ?? ""
        try file.write(Array((id + place).utf8), at: 0)
        try file.synchronise()
        while linkat(folder.descriptor, temporary, folder.descriptor, name, 0) != 0 {
            guard errno == EEXIST else { throw SystemError(code: errno, operation: "note a request") }
            switch try earlier(name) {
            case .request(let id, _): return id
            // Answered meanwhile.
            case .none: break
            case .invalid: unlinkat(folder.descriptor, name, 0)
            }
        }
        try folder.synchronise()
        return id
    }

    private enum Note {
        /// `since`: time of the request; nil if unknown.
        case request(id: String, since: BootTime?)
        case invalid
        case none
    }

    /// - Throws: An error for a file that cannot be read at present, because a new id would send twice.
    private func earlier(_ name: String) throws(SystemError) -> Note {
        let bytes: [UInt8]
        do throws(SystemError) {
            let file = try OpenFile.existing(name, flags: O_RDONLY | O_NOFOLLOW, in: folder)
            guard let file else { return .none }
            bytes = try file.readAll(limit: Self.longest)
        } catch {
            // Too long, or a link: not written by this program.
            if [EFBIG, ELOOP].contains(error.code) { return .invalid }
            throw error
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        guard let id = lines.first, Hexadecimal.decode(String(id))?.count == 16 else { return .invalid }
        let place = lines.dropFirst().first?.split(separator: " ") ?? []
        guard place.count == 2, let seconds = Int64(place[1]) else {
            return .request(id: String(id), since: nil)
        }
        return .request(id: String(id), since: BootTime(boot: String(place[0]), seconds: seconds))
    }

    /// A request already recorded with the key keeps that file.
    private func rename() throws(SystemError) {
        guard key != nil else { return }
        let plain = try PrivateFolder.names(in: folder).filter { !$0.hasPrefix(Self.prefix) }
        for old in plain {
            if old.hasPrefix(".") {
                // Left by a process that was killed; a running one uses a key.
                if !old.hasPrefix("." + Self.prefix) { unlinkat(folder.descriptor, old, 0) }
                continue
            }
            if linkat(folder.descriptor, old, folder.descriptor, name(old), 0) != 0, errno != EEXIST {
                // ENOENT: renamed by another process. Any other failure would hide the file, and an equal request would
                // get another id.
                guard errno == ENOENT else { throw SystemError(code: errno, operation: "keep a request") }
                continue
            }
            unlinkat(folder.descriptor, old, 0)
        }
        if !plain.isEmpty { try folder.synchronise() }
    }

    private func forgetOld() throws(SystemError) {
        let now = Int64(time(nil))
        let moment = moment()
        for name in try PrivateFolder.names(in: folder) {
            var status = stat()
            guard fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
                Int64(status.st_mtim.tv_sec) < now - Self.maxAge, !isYoung(name, at: moment)
            else { continue }
            unlinkat(folder.descriptor, name, 0)
        }
    }

    /// Returns true if a file may be younger than its timestamp tells, because the clock can be set: by the boot clock
    /// it is not older than a day, or it cannot be read.
    private func isYoung(_ name: String, at moment: BootTime?) -> Bool {
        let note: Note
        do throws(SystemError) {
            note = try earlier(name)
        } catch {
            return true
        }
        guard let moment, case .request(_, let since?) = note else { return false }
        return since.boot == moment.boot && moment.seconds - since.seconds < Self.maxAge
    }
}
