import Base
import CLinux
import ChatCore
import Cryptography
import Glibc
import Posix

/// Requests to send whose outcome is not known: each a file in the profile's folder, named by the mark of what
/// is to be sent where, that holds the id of the message, and when that was by `BootMoment`. Who asks for the same again
/// gets the same id, by which the core knows a repetition. Forgotten after a day. All calls block.
///
/// A mark is a plain digest, from which a short text could be found by trying. Where the data is encrypted, the
/// file's name is therefore made of the mark and a key.
public struct UnansweredRequests: Sendable {
    /// How long a request is remembered that never got its answer.
    static let maxAge: Int64 = 24 * 3600
    private static let folderName = "unanswered"

    /// In front of names that were made with a key.
    private static let prefix = "k"

    /// The longest note, in bytes.
    private static let longest = 256

    private let folder: OpenFile
    private let key: SecretBytes?
    private let moment: @Sendable () -> BootMoment?

    /// - Parameter key: from `key(from:)`; nil: the data is not encrypted.
    /// - Throws: `.system` where the folder cannot be opened or made.
    public init(profileFolder: String, key: SecretBytes?) throws(DesktopError) {
        try self.init(profileFolder: profileFolder, key: key, moment: { BootMoment.now() })
    }

    init(
        profileFolder: String, key: SecretBytes?, moment: @escaping @Sendable () -> BootMoment?
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
        let place = moment().map { "\n\($0.boot) \($0.seconds)" } ?? ""
        try file.write(Array((id + place).utf8), at: 0)
        try file.synchronise()
        while linkat(folder.descriptor, temporary, folder.descriptor, name, 0) != 0 {
            guard errno == EEXIST else { throw SystemError(code: errno, operation: "note a request") }
            switch try earlier(name) {
            case .request(let id, _): return id
            // It has its answer by now.
            case .none: break
            case .invalid: unlinkat(folder.descriptor, name, 0)
            }
        }
        try folder.synchronise()
        return id
    }

    private enum Note {
        /// `since`: when it was noted; nil where that is not known.
        case request(id: String, since: BootMoment?)
        case invalid
        case none
    }

    /// - Throws: for a note that is there and cannot be read at present: another id in its place would send twice.
    private func earlier(_ name: String) throws(SystemError) -> Note {
        let bytes: [UInt8]
        do throws(SystemError) {
            let file = try OpenFile.existing(name, flags: O_RDONLY | O_NOFOLLOW, in: folder)
            guard let file else { return .none }
            bytes = try file.readAll(limit: Self.longest)
        } catch {
            // Too long, or a link: no note of this program.
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
        return .request(id: String(id), since: BootMoment(boot: String(place[0]), seconds: seconds))
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
        let moment = moment()
        for name in try PrivateFolder.names(in: folder) {
            var status = stat()
            guard fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
                Int64(status.st_mtim.tv_sec) < now - Self.maxAge, !isYoung(name, at: moment)
            else { continue }
            unlinkat(folder.descriptor, name, 0)
        }
    }

    /// Whether a note may be younger than the clock says, which somebody may have set: it is not older than a day by
    /// the time since the machine was started, or cannot be read at present.
    private func isYoung(_ name: String, at moment: BootMoment?) -> Bool {
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
