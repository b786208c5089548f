import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// The folder from which the core takes files of messages, each in its own subfolder, whose name identifies
/// the core's message. All calls block.
struct StagingFolder: Sendable {
    /// Absolute.
    let path: String

    /// Creates a missing folder.
    init(_ path: String) throws(SystemError) {
        self.path = path
        guard mkdir(path, 0o700) != 0 else { return }
        guard errno == EEXIST else {
            throw SystemError(code: errno, operation: "make the folder for sending")
        }
    }

    /// A valid path component, the same for every attempt of a message.
    static func folder(of message: ComposedMessage) -> String { folder(ofMessage: message.id) }

    static func folder(ofMessage id: String) -> String {
        "message-" + Hexadecimal.encode(Array(SHA256.hash(Array(id.utf8)).prefix(16)))
    }

    /// Links the file of a message into its own folder under the name for recipients. Returns its location
    /// for the core.
    func place(_ message: ComposedMessage, in folder: String) throws -> FileSourceLocation {
        let own = try PrivateFolder.folder(folder, in: OpenFile(path, flags: O_RDONLY | O_DIRECTORY))
        if try !Self.isSame(message.source.path, as: message.fileName, in: own) {
            // Left by an earlier attempt that the core did not take; this one may have another key.
            unlinkat(own.descriptor, message.fileName, 0)
            try check("place a file that is sent") {
                linkat(AT_FDCWD, message.source.path, own.descriptor, message.fileName, 0)
            }
            // The core's message refers to it from the next step on.
            try own.synchronise()
        }
        return FileSourceLocation(
            path: "\(path)/\(folder)/\(message.fileName)", arguments: message.source.arguments)
    }

    /// Returns true if the name in the folder is a link of the file at `path`, or if that file is already
    /// deleted.
    private static func isSame(
        _ path: String, as name: String, in folder: OpenFile
    ) throws(SystemError) -> Bool {
        var (placed, given) = (stat(), stat())
        guard fstatat(folder.descriptor, name, &placed, AT_SYMLINK_NOFOLLOW) == 0 else { return false }
        guard lstat(path, &given) == 0 else {
            guard errno == ENOENT else {
                throw SystemError(code: errno, operation: "place a file that is sent")
            }
            return true
        }
        return placed.st_ino == given.st_ino && placed.st_dev == given.st_dev
    }

    /// Keeps a received CryptoFile as a durable copy of this process. Returns its location.
    func keep(_ staged: FileSourceLocation, as file: FileID) throws -> FileSourceLocation {
        let kept = FileSourceLocation(
            path: "\(path)/\(Self.copyPrefix)\(file.rawValue)", arguments: staged.arguments)
        try check("keep a received file") { rename(staged.path, kept.path) }
        try OpenFile(path, flags: O_RDONLY | O_DIRECTORY).synchronise()
        return kept
    }

    private static let copyPrefix = "kept-"

    /// Returns the file of a copy's name, or nil for other names.
    static func file(ofCopy name: String) -> FileID? {
        guard name.hasPrefix(copyPrefix) else { return nil }
        return Int64(name.dropFirst(copyPrefix.count)).map { FileID($0) }
    }

    /// Moves in copies and files of links from an archive. Existing files stay. Repeatable after a kill.
    /// - Parameter folder: Absolute; may be missing.
    func takeIn(_ folder: String) throws(SystemError) {
        for name in try PrivateFolder.names(at: folder) {
            if Self.file(ofCopy: name) != nil {
                try Self.move("\(folder)/\(name)", to: "\(path)/\(name)")
            } else if name.hasPrefix("links-") {
                let own = "\(path)/\(name)"
                if mkdir(own, 0o700) != 0, errno != EEXIST {
                    throw SystemError(code: errno, operation: "make a folder for links")
                }
                for file in try PrivateFolder.names(at: "\(folder)/\(name)") {
                    try Self.move("\(folder)/\(name)/\(file)", to: "\(own)/\(file)")
                }
                rmdir("\(folder)/\(name)")
            }
        }
        rmdir(folder)
    }

    /// Also between disks.
    private static func move(_ source: String, to target: String) throws(SystemError) {
        if access(target, F_OK) == 0 { return }
        let parent = try OpenFile(target.parentPath, flags: O_RDONLY | O_DIRECTORY)
        if rename(source, target) != 0 {
            guard errno == EXDEV else {
                throw SystemError(code: errno, operation: "move a file from an archive")
            }
            let unfinished = "\(target.parentPath)/.\(target.lastPathName ?? "").new"
            try copy(source, to: unfinished)
            try check("move a file from an archive") { rename(unfinished, target) }
            try parent.synchronise()
            unlink(source)
        }
        try parent.synchronise()
    }

    private static func copy(_ source: String, to target: String) throws(SystemError) {
        let from = try OpenFile(source, flags: O_RDONLY | O_NOFOLLOW)
        let to = try OpenFile(target, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
        var position: UInt64 = 0
        while true {
            let bytes = try from.read(count: 1 << 20, at: position)
            if bytes.isEmpty { break }
            try to.write(bytes, at: position)
            position += UInt64(bytes.count)
        }
        try to.synchronise()
    }

    /// Deletes the file of a deleted message with its folder. The core deletes the file too.
    func remove(_ folder: String) {
        let path = "\(path)/\(folder)"
        // Already deleted, or left to the next start.
        if let opened = try? OpenFile(path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW) {
            try? PrivateFolder.removeContents(of: opened, keeping: [])
        }
        rmdir(path)
    }
}

/// Deletes a file; errors are ignored.
@Sendable func removeFile(_ path: String) { unlink(path) }
