import Base
import CLinux
import Cryptography
import Glibc
import Posix

/// The file of key slots: 0600, replaced as a whole, so that whoever is killed at whatever moment leaves the old one or
/// the new one. Blocks.
public struct KeySlotsFile: Sendable {
    public let path: String
    private static let lockAttempts = 50
    /// Microseconds.
    private static let lockPause: UInt32 = 20_000

    private let synchronise: @Sendable (OpenFile) throws(SystemError) -> Void

    public init(path: String) {
        self.init(path: path) { (file) throws(SystemError) in try file.synchronise() }
    }

    /// - Parameter synchronise: has the disk take a file or a folder.
    init(path: String, synchronise: @escaping @Sendable (OpenFile) throws(SystemError) -> Void) {
        self.path = path
        self.synchronise = synchronise
    }

    /// - Throws: `.missing`, `.notKeySlots`, `.newerVersion`, `.damaged`, `.file`.
    public func read() throws(KeySlotsError) -> KeySlots {
        try KeySlots(
            try wrapping { () throws(SystemError) in
                // One byte more than there may be tells that there are too many.
                try OpenFile(path, flags: O_RDONLY | O_NOFOLLOW).read(count: KeySlots.longest + 1, at: 0)
            })
    }

    /// Writes the first of its name.
    ///
    /// - Throws: `.exists`, `.busy`, `.file`. Then none of it is there.
    public func create(_ slots: KeySlots) throws(KeySlotsError) {
        let folder = try lockedFolder()
        try replace(slots, in: folder, isNew: true)
    }

    /// Reads it, lets `body` change what it holds, and writes it. When `body` throws nothing changes. Of several
    /// processes one does so at a time.
    ///
    /// - Parameter wrapping: makes an error of the caller's own of what goes wrong here: as `read`; `.busy` while another
    ///   process does the same; `.file`.
    /// - Throws: what `wrapping` makes, and what `body` throws.
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

    /// The same with errors of its own.
    /// - Throws: as `read`, `.busy`, `.file`; what `body` throws.
    public func change<Result>(
        _ body: (inout KeySlots) throws(KeySlotsError) -> Result
    ) throws(KeySlotsError) -> Result {
        try change(wrapping: { $0 }, body)
    }

    /// The folder, locked for the life of what is returned. Not the file: that is another one after each change.
    private func lockedFolder() throws(KeySlotsError) -> OpenFile {
        let folder = try wrapping { () throws(SystemError) in
            try OpenFile(path.parentPath, flags: O_RDONLY | chatfs_o_directory)
        }
        // A program that is just being started has, for a moment, what this process had open; and a change takes no
        // longer than its disk.
        for attempt in 0..<Self.lockAttempts {
            if attempt > 0 { usleep(Self.lockPause) }
            if try wrapping({ () throws(SystemError) in try folder.tryLock() }) { return folder }
        }
        throw KeySlotsError(.busy, "Another process is changing the ways to unlock: try again.")
    }

    private func replace(_ slots: KeySlots, in folder: OpenFile, isNew: Bool) throws(KeySlotsError) {
        let temporary = path + ".new"
        var isOurs = false
        do throws(SystemError) {
            // Of somebody who was killed: nobody else writes one while the folder is locked.
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
            // Whoever made it takes it for a failure, and for what nobody keeps a key: it may not open anything later.
            if isOurs { unlink(path) }
            guard error.code == EEXIST else { throw KeySlotsError(error) }
            throw KeySlotsError(.exists, "There is a file of wrapped keys already.", cause: error)
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
                .missing, "The file of wrapped keys is missing: restore it from a backup.", cause: error)
        }
    }
}
