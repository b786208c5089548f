import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// The files of one profile on disk. Names are random: they say nothing about the content.
public struct ProfileFolders: Sendable {
    /// Below it, all that there may be, whoever opens them.
    public static let databases = [
        "names.sqlite", "keep.sqlite", "links.sqlite", "agent.sqlite", "outbox/journal.sqlite",
    ]

    /// Stands beside databases that came out of an archive, until they are used: the keys of connections in them are of
    /// the past.
    public static let restoredMark = "agent.restored"

    var isRestored: Bool { access(path + "/" + Self.restoredMark, F_OK) == 0 }

    /// The keys of the past will not be used.
    func noteUsed() throws {
        let folder = try OpenFile(path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        unlinkat(folder.descriptor, Self.restoredMark, 0)
        try folder.synchronise()
    }

    /// Absolute path of the profile's own folder.
    let path: String
    private let files: OpenFile

    var filesPath: String { path + "/files" }
    var stagingPath: String { path + "/staging" }
    private var incomingPath: String { path + "/incoming" }

    /// Where the core's own download of a file grows until it is whole.
    func incomingPath(of file: FileID) -> String { incomingPath + "/\(file.rawValue)" }

    /// - Parameter path: of the data directory, absolute.
    init(of profile: Profile, in directory: PrivateFolder, path directoryPath: String) throws(SystemError) {
        let name = "\(profile.id)"
        path = directoryPath + "/profiles/" + name
        let profiles = try directory.subfolder("profiles")
        let own = try PrivateFolder.folder(name, in: profiles)
        for inner in ["staging", "incoming"] { _ = try PrivateFolder.folder(inner, in: own) }
        files = try PrivateFolder.folder("files", in: own)
    }

    /// Gives a finished CryptoFile a second, lasting name in the files folder. Its bytes are durable already
    /// (each wait for the disk is as long as all the rest); the name is when this or `synchroniseNames`
    /// returns. The first name is removed by the caller once the row is committed: whenever the process
    /// dies, either the row names the file or the giver still has it.
    ///
    /// - Throws: `.invalidCommand` for what is no CryptoFile of `size` bytes of plaintext.
    func keep(_ location: FileSourceLocation, size: UInt64, durably: Bool = true) throws -> String {
        guard location.arguments != nil else {
            throw ChatError(.invalidCommand, "The file to keep is not encrypted.")
        }
        let length = try OpenFile.regular(location.path, flags: O_NOFOLLOW)?.size()
        guard let length, length >= 16, length - 16 == size else {
            throw ChatError(.file(.damaged), "The file to keep does not have the length it should have.")
        }
        let name = freshName()
        try check("keep a file") {
            linkat(AT_FDCWD, location.path, files.descriptor, name, 0)
        }
        guard durably else { return name }
        do {
            try synchroniseNames()
        } catch {
            remove(name)
            throw error
        }
        return name
    }

    /// Writes bytes as a new CryptoFile, durably, or for `synchroniseAll` to make it so.
    func write(_ bytes: [UInt8], durably: Bool = true) throws -> (name: String, arguments: FileArguments) {
        let name = freshName()
        let arguments = CryptoFile.freshArguments()
        do {
            let file = try OpenFile(name, flags: O_RDWR | O_CREAT | O_EXCL, in: files)
            let writer = try CryptoFileWriter(file: file, arguments: arguments, makesTags: true)
            try writer.append(bytes)
            try writer.finish()
            try writer.confirm()
            if durably {
                try file.synchronise()
                try files.synchronise()
            }
        } catch {
            remove(name)
            throw error
        }
        return (name, arguments)
    }

    /// Makes the names of what was kept durable.
    func synchroniseNames() throws(SystemError) { try files.synchronise() }

    /// Makes all files that were written durable, with their names.
    func synchroniseAll() throws(SystemError) { try files.synchroniseFilesystem() }

    /// Removes a file that no row names any more. Who has it open keeps reading it.
    func remove(_ name: String) { unlinkat(files.descriptor, name, 0) }

    /// Of all files: also of those that no row names, which a crash or another process left.
    func names() throws(SystemError) -> [String] { try PrivateFolder.names(in: files) }

    /// Bytes that are free for files; nil where the disk does not say.
    var freeBytes: UInt64? { try? files.availableBytes() }

    /// Removes what interrupted downloads left, except of those that go on.
    func removeIncoming(except files: Set<FileID>) throws(SystemError) {
        let names = Set(files.map { "\($0.rawValue)" })
        let folder = try OpenFile(incomingPath, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        for name in try PrivateFolder.names(in: folder) where !names.contains(name) {
            unlinkat(folder.descriptor, name, 0)
        }
    }

    /// Removes files that were staged and never handed over, an hour old at least: younger ones may
    /// belong to a process that is just about to. Folders are their makers' own business.
    func sweepStaging(now: Timestamp) throws(SystemError) {
        let folder = try OpenFile(stagingPath, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        for name in try PrivateFolder.names(in: folder) {
            var status = stat()
            guard fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
                status.st_mode & S_IFMT == S_IFREG, Int64(status.st_mtim.tv_sec) < now.seconds - 3600
            else { continue }
            unlinkat(folder.descriptor, name, 0)
        }
    }

    /// Removes all that the profile has on disk.
    func removeAll() throws {
        try PrivateFolder.removeContents(
            of: OpenFile(path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW), keeping: [])
        _ = try check("remove the folder of a profile") { rmdir(path) }
    }

    private func freshName() -> String { Hexadecimal.encode(SystemRandomSource().bytes(16)) }
}
