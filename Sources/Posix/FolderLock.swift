import Glibc

/// Limits a folder to one user: an flock(2) on its file `lock`. Released with the last reference.
public final class FolderLock: Sendable {
    private let file: OpenFile

    /// Returns nil if the folder is in use.
    /// - Throws: If its file cannot be opened, created or locked.
    public init?(_ folder: PrivateFolder) throws(SystemError) {
        file = try OpenFile("lock", flags: O_RDWR | O_CREAT, in: folder.directory)
        guard try file.tryLock() else { return nil }
    }

    public func release() { file.unlock() }
}
