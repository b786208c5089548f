import Glibc

/// Keeps a folder to one user of it: an flock(2) on its file `lock`. Given back with the last reference too.
public final class FolderLock: Sendable {
    private let file: OpenFile

    /// nil: somebody else has it.
    /// - Throws: where its file cannot be opened, made or locked.
    public init?(_ folder: PrivateFolder) throws(SystemError) {
        file = try OpenFile("lock", flags: O_RDWR | O_CREAT, in: folder.directory)
        guard try file.tryLock() else { return nil }
    }

    public func release() { file.unlock() }
}
