import Base
import CLinux
import Glibc
import Posix

/// The core's folder for files to be handed over, each in its own subfolder. It may be shared, so the
/// subfolders of this outbox start with its mark. All calls block.
final class StagingFolder: Sendable {
    /// For two staging passes and four early copies. Their own, because a large file takes seconds.
    static let threads = ThreadPool(name: "staging", threads: 6)

    let path: String
    private let directory: OpenFile
    private let mark: String
    private let random: any RandomSource

    init(path: String, mark: String, random: any RandomSource) throws(SystemError) {
        self.path = path
        self.mark = mark
        self.random = random
        directory = try OpenFile(path, flags: O_RDONLY | chatfs_o_directory | chatfs_o_nofollow)
    }

    /// Creates an empty folder with a unique name.
    func makeFolder() throws(SystemError) -> (name: String, folder: OpenFile) {
        let name = "\(mark)-\(Hexadecimal.encode(random.bytes(12)))"
        try check("make a folder") { mkdirat(directory.descriptor, name, 0o700) }
        return (name, try open(name))
    }

    func path(of staged: StagedFile) -> String { "\(path)/\(staged.folder)/\(staged.fileName)" }

    /// Deletes a folder with its contents. Remains are deleted at the next start.
    func remove(_ folder: String) {
        if let inner = try? open(folder) { try? PrivateFolder.removeContents(of: inner, keeping: []) }
        unlinkat(directory.descriptor, folder, AT_REMOVEDIR)
    }

    func remove(_ staged: StagedFile) { remove(staged.folder) }

    /// Deletes the folders of this outbox except those named: copies that a crash interrupted. Also deletes
    /// files `send-…` of a `chatfs send` that was killed before `limit`.
    func sweep(keeping kept: Set<String>, sendsBefore limit: Timestamp) throws(SystemError) {
        for name in try PrivateFolder.names(in: directory) {
            if name.hasPrefix(mark + "-"), !kept.contains(name) { remove(name) }
            // A file that cannot be opened was already deleted by its owner or its core.
            if name.hasPrefix("send-"), let file = try? OpenFile(name, flags: O_RDONLY, in: directory),
                Int64(try file.status().st_mtim.tv_sec) < limit.seconds
            {
                unlinkat(directory.descriptor, name, 0)
            }
        }
    }

    /// Makes the names of folders durable.
    func synchronise() throws(SystemError) { try directory.synchronise() }

    private func open(_ name: String) throws(SystemError) -> OpenFile {
        try OpenFile(name, flags: O_RDONLY | chatfs_o_directory | chatfs_o_nofollow, in: directory)
    }
}
