import Base
import CLinux
import Cryptography
import Glibc
import Posix

/// The file of key slots, with mode 0600. It is replaced atomically, so a kill leaves the old or the new file. Blocks.
public struct KeySlotsFile: Sendable {
    public let path: String
    private static let lockAttempts = 50
    /// In microseconds.
    private static let lockPause: UInt32 = 20_000

    private let synchronise: @Sendable (OpenFile) throws(SystemError) -> Void

    public init(path: String) {
        self.init(path: path) { (file) throws(SystemError) in try file.synchronise() }
    }

    /// - Parameter synchronise: Synchronizes a file or folder with the disk.
    init(path: String, synchronise: @escaping @Sendable (OpenFile) throws(SystemError) -> Void) {
        self.path = path
        self.synchronise = synchronise
    }

    /// - Throws: `.missing`, `.notKeySlots`, `.newerVersion`, `.damaged`, `.file`.
    public func read() throws(KeySlotsError) -> KeySlots {
        try KeySlots(
            try wrapping { () throws(SystemError) in
                // An additional byte reveals a file that is too long.
                try OpenFile(path, flags: O_RDONLY | O_NOFOLLOW).read(count: KeySlots.longest + 1, at: 0)
            })
    }

    /// Creates the file.
    ///
    /// - Throws: `.exists`, `.busy`, `.file`. No file exists then.
    public func create(_ slots: KeySlots) throws(KeySlotsError) {
        let folder = try lockedFolder()
        try replace(slots, in: folder, isNew: true)
    }

    /// Reads the file, lets `body` change its slots and writes it. If `body` throws, nothing changes. Processes take
    /// turns.
    ///
    /// - Parameter wrapping: Maps an error of the file to the caller's: the errors of `read`, `.busy`, `.file`.
    /// - Throws: The errors of `wrapping` and of `body`.
    public func change<Result, Failure: Error>(
        wrapping: (KeySlotsError) -> Failure, _ body: (inout KeySlots) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let (folder, before): (OpenFile, KeySlots)
        do throws(KeySlotsError) {
            (folder, before) = (try lockedFolder(), try read())
        } catch {
            throw wrapping(error)
        }
        var slots = before
        let result = try body(&slots)
        guard slots != before else { return result }
        do throws(KeySlotsError) {
            try replace(slots, in: folder, isNew: false)
        } catch {
            throw wrapping(error)
        }
        return result
    }

    /// Changes the file with unmapped errors.
    /// - Throws: The errors of `read`, `.busy`, `.file`; the errors of `body`.
    public func change<Result>(
        _ body: (inout KeySlots) throws(KeySlotsError) -> Result
    ) throws(KeySlotsError) -> Result {
        try change(wrapping: { $0 }, body)
    }

    /// Returns the folder, locked for the life of the result. The file itself cannot be locked, because each change
    /// replaces it.
    private func lockedFolder() throws(KeySlotsError) -> OpenFile {
        let folder = try wrapping { () throws(SystemError) in
            try OpenFile(path.parentPath, flags: O_RDONLY | chatfs_o_directory)
        }
        // Retry, because a starting child process briefly inherits open files, and other changes are short.
        for attempt in 0..<Self.lockAttempts {
            if attempt > 0 { usleep(Self.lockPause) }
            if try wrapping({ () throws(SystemError) in try folder.tryLock() }) { return folder }
        }
        throw KeySlotsError(.busy, "Another process is changing the ways to unlock; try again.")
    }

    private func replace(_ slots: KeySlots, in folder: OpenFile, isNew: Bool) throws(KeySlotsError) {
        let temporary = path + ".new"
        var isOurs = false
        do throws(SystemError) {
            // Left by a killed process: the lock excludes other writers.
            unlink(temporary)
            let file = try OpenFile(temporary, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            try file.write(slots.encoded, at: 0)
            try synchronise(file)
            if isNew {
                try check("give the file of wrapped keys its name") { link(temporary, path) }
                isOurs = true
                unlink(temporary)
            } else {
                try check("replace the file of wrapped keys") { rename(temporary, path) }
            }
            try synchronise(folder)
        } catch {
            unlink(temporary)
            // The caller treats this as a failure and drops the key, so the file must not remain.
            if isOurs { unlink(path) }
            guard error.code == EEXIST else { throw KeySlotsError(error) }
            throw KeySlotsError(.exists, "A file of wrapped keys exists already.", cause: error)
        }
    }

    private func wrapping<Result>(
        _ body: () throws(SystemError) -> Result
    ) throws(KeySlotsError) -> Result {
        do throws(SystemError) {
            return try body()
        } catch {
            guard error.code == ENOENT else { throw KeySlotsError(error) }
            throw KeySlotsError(
                .missing, "The file of wrapped keys is missing; restore it from a backup.", cause: error)
        }
    }
}
