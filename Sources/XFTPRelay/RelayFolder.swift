import Base
import Glibc
import Posix

/// A relay's folder: the files of `IdentityFiles`, `port`, `records.db`, `records.db-reserve` (space for deletions on a
/// full disk), `chunks/` (a file for each chunk, named after the sender ID) and `incoming/` (active uploads, emptied at
/// start).
struct RelayFolder: Sendable {
    let folder: PrivateFolder
    let chunks: OpenFile
    let incoming: OpenFile
    /// Locked from start to stop.
    private let lock: FolderLock

    static let lockFile = "lock"
    static let recordsFile = "records.db"
    var recordsPath: String { folder.path + "/" + Self.recordsFile }

    init(_ path: String) throws(RelayError) {
        let free: FolderLock?
        do throws(SystemError) {
            folder = try Self.make(path)
            free = try FolderLock(folder)
            chunks = try folder.subfolder("chunks")
            incoming = try folder.subfolder("incoming")
            if free != nil { try PrivateFolder.removeContents(of: incoming, keeping: []) }
        } catch {
            throw RelayError(.folder, "The relay's folder cannot be used. \(error.sentence)", cause: error)
        }
        guard let free else { throw RelayError(.inUse, "Another relay uses this folder.") }
        lock = free
    }

    /// Opens or creates the folder without locking it.
    static func make(_ path: String) throws(SystemError) -> PrivateFolder {
        try PrivateFolder(path, purpose: "relay")
    }

    /// Unlocks the folder for another relay.
    func release() { lock.release() }
}
