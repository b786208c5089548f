import Glibc

/// Keeps a folder to one user of it: an flock(2) on its file `lock`. Given back with the last reference too: closing
/// the file alone does not while a child process that was just made still has a copy of the descriptor.
public final class FolderLock: Sendable {
    private let file: OpenFile

    /// nil: somebody else has it.
    /// - Throws: where its file cannot be opened, made or locked.
    public init?(_ folder: PrivateFolder) throws(SystemError) {
        file = try OpenFile("lock", flags: O_RDWR | O_CREAT, in: folder.directory)
        guard try file.tryLock() else { return nil }
    }

    deinit { release() }

    public func release() { flock(file.descriptor, LOCK_UN) }
}
