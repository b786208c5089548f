import CLinux
import Glibc
import KeySlots
import Posix

/// A note next to the keys (`keys.unconfirmed-NUMBER`) that no user can have the secret of a new slot yet. The process
/// that creates the slot locks it. If it was killed, the next process that opens the folder removes the slot. All calls
/// block.
///
///     0   "u"; "s" of an earlier version: a user may have the secret
///     1   the identity of the slot (`KeySlot.identity`): after a kill before the slot is written, another process may
///         use its number
///
/// An executable note means that a user may have the secret. Its mode can be changed on a full disk, even on
/// filesystems that never write in place.
/// written in place.
struct UnconfirmedSlot {
    private static let prefix = KeyedFolder.keysFile + ".unconfirmed-"
    private static let unseen = UInt8(ascii: "u")
    private static let formerlyShown = UInt8(ascii: "s")

    private let folder: OpenFile
    private let file: OpenFile
    private let name: String

    /// Creates the note before the slot is in the file of keys.
    init(of slot: KeySlot, in path: String) throws(SystemError) {
        folder = try OpenFile(path, flags: O_RDONLY | chatfs_o_directory)
        name = Self.prefix + "\(slot.number)"
        file = try OpenFile(
            name, flags: O_RDWR | O_CREAT | chatfs_o_nofollow, in: folder)
        guard try file.tryLock() else { throw SystemError(code: EBUSY, operation: "add a way to unlock") }
        try file.write([Self.unseen] + slot.identity, at: 0)
        try file.synchronise()
        try folder.synchronise()
    }

    /// Keeps the slot from now on, also after a kill.
    func noteShown() throws(SystemError) { try note(isShown: true) }

    /// Notes that the code was not handed over.
    func noteUnseen() throws(SystemError) { try note(isShown: false) }

    private func note(isShown: Bool) throws(SystemError) {
        try check("mark a file") { fchmod(file.descriptor, isShown ? 0o700 : 0o600) }
        try file.synchronise()
    }

    /// Keeps the lock until here.
    func remove() {
        unlinkat(folder.descriptor, name, 0)
        withExtendedLifetime(file) {}
    }

    /// Leaves unreadable notes for the next process, so that unlocking does not fail.
    ///
    /// - Parameter removeSlots: Removes the slots whose secret no user has; they may be missing. Returns false to
    ///   retry.
    static func sweep(in path: String, removeSlots: (@escaping (KeySlot) -> Bool) -> Bool) {
        guard let folder = try? OpenFile(path, flags: O_RDONLY | chatfs_o_directory),
            let names = try? PrivateFolder.names(in: folder)
        else { return }
        for name in names where name.hasPrefix(prefix) {
            guard let number = UInt32(name.dropFirst(prefix.count)),
                let file = try? OpenFile(name, flags: O_RDWR | chatfs_o_nofollow, in: folder),
                (try? file.tryLock()) == true,
                let content = try? file.read(count: 1 + KeySlot.identityLength, at: 0),
                let mode = try? file.status().st_mode
            else { continue }
            let identity = Array(content.dropFirst())
            let isDone =
                mode & S_IXUSR != 0 || content.first == formerlyShown
                || removeSlots { slot in
                    slot.kind == .recoveryCode && slot.number == number && slot.identity == identity
                }
            guard isDone else { continue }
            unlinkat(folder.descriptor, name, 0)
        }
    }
}
