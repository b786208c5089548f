import Posix

/// A message relay's folder: `queues.db`, and `port` with the previous port.
struct MessageRelayFolder: Sendable {
    let folder: PrivateFolder
    /// Locked from start to stop.
    private let lock: FolderLock

    var recordsPath: String { folder.path + "/queues.db" }

    init(_ path: String) throws(MessageRelayError) {
        let free: FolderLock?
        do throws(SystemError) {
            folder = try PrivateFolder(path, purpose: "message relay")
            free = try FolderLock(folder)
        } catch {
            throw MessageRelayError(
                .folder, "The message relay's folder cannot be used. \(error.sentence)", cause: error)
        }
        guard let free else {
            throw MessageRelayError(.inUse, "Another message relay uses this folder.")
        }
        lock = free
    }

    /// Unlocks the folder for another relay.
    func release() { lock.release() }
}
