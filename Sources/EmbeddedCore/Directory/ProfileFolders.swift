import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// The folders and files of one profile. File names are random and reveal no contents.
public struct ProfileFolders: Sendable {
    /// Possible databases below the profile's folder.
    public static let databases = [
        "names.sqlite", "keep.sqlite", "links.sqlite", "agent.sqlite", "outbox/journal.sqlite",
    ]

    /// Marks databases restored from an archive until their first use: the keys of their connections are
    /// outdated.
    public static let restoredMark = "agent.restored"

    var isRestored: Bool { access(path + "/" + Self.restoredMark, F_OK) == 0 }

    /// Removes the mark after the connections were resynchronised.
    func noteUsed() throws {
        let folder = try OpenFile(path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        unlinkat(folder.descriptor, Self.restoredMark, 0)
        try folder.synchronise()
    }

    /// Absolute path of the profile's folder.
    let path: String
    private let files: OpenFile

    var filesPath: String { path + "/files" }
    var stagingPath: String { path + "/staging" }
    private var incomingPath: String { path + "/incoming" }

    /// Path of a file's own download under way.
    func incomingPath(of file: FileID) -> String { incomingPath + "/\(file.rawValue)" }

    /// - Parameter path: absolute path of the data directory.
    init(of profile: Profile, in directory: PrivateFolder, path directoryPath: String) throws(SystemError) {
        let name = "\(profile.id)"
        path = directoryPath + "/profiles/" + name
        let profiles = try directory.subfolder("profiles")
        let own = try PrivateFolder.folder(name, in: profiles)
        for inner in ["staging", "incoming"] { _ = try PrivateFolder.folder(inner, in: own) }
        files = try PrivateFolder.folder("files", in: own)
    }

    /// Links a finished CryptoFile into the files folder. Its contents must be durable already. The name is
    /// durable on return, or with `durably: false` after `synchroniseNames`. The caller removes the first
    /// name after committing the row. At any crash, either the row names the file or the first name still
    /// exists.
    ///
    /// - Throws: `.invalidCommand` for an unencrypted file; `.file(.damaged)` if it is no CryptoFile with `size` bytes of
    ///   content.
    func keep(_ location: FileSourceLocation, size: UInt64, durably: Bool = true) throws -> String {
        guard let arguments = location.arguments else {
            throw ChatError(.invalidCommand, "The file to keep is not encrypted.")
        }
        let length = try OpenFile.regular(location.path, flags: O_NOFOLLOW)?.size()
        guard let length, CryptoFile.hasContent(of: size, fileSize: length, arguments) else {
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

    /// Writes bytes as a new CryptoFile. Durable on return, or with `durably: false` after `synchroniseAll`.
    func write(_ bytes: [UInt8], durably: Bool = true) throws -> (name: String, arguments: FileArguments) {
        let name = freshName()
        let arguments = CryptoFile.freshArguments()
        do {
            let file = try OpenFile(name, flags: O_RDWR | O_CREAT | O_EXCL, in: files)
            let writer = try CryptoFileWriter(file: file, arguments: arguments)
            try writer.append(bytes)
            try writer.finish()
            try CryptoFile.confirm(file, arguments)
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

    /// Makes the names of kept files durable.
    func synchroniseNames() throws(SystemError) { try files.synchronise() }

    /// Makes all written files and their names durable.
    func synchroniseAll() throws(SystemError) { try files.synchroniseFilesystem() }

    /// Unlinks a file without a row. Open descriptors stay readable.
    func remove(_ name: String) { unlinkat(files.descriptor, name, 0) }

    /// Names of all files, including those without a row.
    func names() throws(SystemError) -> [String] { try PrivateFolder.names(in: files) }

    /// Free disk space in bytes; nil if unknown.
    var freeBytes: UInt64? { try? files.availableBytes() }

    /// Removes interrupted downloads except those of `files`.
    func removeIncoming(except files: Set<FileID>) throws(SystemError) {
        let names = Set(files.map { "\($0.rawValue)" })
        let folder = try OpenFile(incomingPath, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        for name in try PrivateFolder.names(in: folder) where !names.contains(name) {
            unlinkat(folder.descriptor, name, 0)
        }
    }

    /// Removes staged regular files older than an hour. Younger ones may be about to be handed over. Leaves
    /// folders to their owners.
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

    /// Removes all files of the profile.
    func removeAll() throws {
        try PrivateFolder.removeContents(
            of: OpenFile(path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW), keeping: [])
        _ = try check("remove the folder of a profile") { rmdir(path) }
    }

    private func freshName() -> String { Hexadecimal.encode(SystemRandomSource().bytes(16)) }
}
