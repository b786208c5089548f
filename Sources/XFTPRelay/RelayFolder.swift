import Base
import Glibc
import Posix

/// A relay's folder on disk: its identity, the port it had, and where chunks and records lie.
///
/// What `IdentityFiles` keeps, `port`, `records.db`, `chunks/` (one file for each chunk under the sender ID),
/// `incoming/` (uploads under way; emptied at start).
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
        guard let free else { throw RelayError(.inUse, "Another relay works in this folder.") }
        lock = free
    }

    /// Without the lock and what is in it.
    static func make(_ path: String) throws(SystemError) -> PrivateFolder {
        try PrivateFolder(path, purpose: "relay")
    }

    /// Lets another relay work here.
    func release() { lock.release() }
}
