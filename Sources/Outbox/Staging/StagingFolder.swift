import Base
import CLinux
import Glibc
import Posix

/// The core's folder for CryptoFiles that are handed over. Each is in a folder of its own. Others may stage there too:
/// folders of this outbox begin with its mark. All calls block.
final class StagingFolder: Sendable {
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

    /// A new empty folder of a name never used before.
    func makeFolder() throws(SystemError) -> (name: String, folder: OpenFile) {
        let name = "\(mark)-\(Hexadecimal.encode(random.bytes(12)))"
        try check("make a folder") { mkdirat(directory.descriptor, name, 0o700) }
        return (name, try open(name))
    }

    func path(of staged: StagedFile) -> String { "\(path)/\(staged.folder)/\(staged.fileName)" }

    /// Removes a folder and what is left in it. What cannot be removed is swept at the next start.
    func remove(_ folder: String) {
        if let inner = try? open(folder) { try? PrivateFolder.removeContents(of: inner, keeping: []) }
        unlinkat(directory.descriptor, folder, AT_REMOVEDIR)
    }

    func remove(_ staged: StagedFile) { remove(staged.folder) }

    /// Removes the folders of this outbox but those named: copies that a crash cut off. Also what a
    /// `chatfs send` left that was killed before `limit`: its files are called `send-…`.
    func sweep(keeping kept: Set<String>, sendsBefore limit: Timestamp) throws(SystemError) {
        for name in try PrivateFolder.names(in: directory) {
            if name.hasPrefix(mark + "-"), !kept.contains(name) { remove(name) }
            // One that cannot be opened is gone, to its owner's core or by him.
            if name.hasPrefix("send-"), let file = try? OpenFile(name, flags: O_RDONLY, in: directory),
                Int64(try file.status().st_mtim.tv_sec) < limit.seconds
            {
                unlinkat(directory.descriptor, name, 0)
            }
        }
    }

    /// Makes the names of the folders durable.
    func synchronise() throws(SystemError) { try directory.synchronise() }

    private func open(_ name: String) throws(SystemError) -> OpenFile {
        try OpenFile(name, flags: O_RDONLY | chatfs_o_directory | chatfs_o_nofollow, in: directory)
    }
}
