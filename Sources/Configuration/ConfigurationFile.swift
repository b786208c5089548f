import Base
import Glibc
import Posix

/// The file `$XDG_CONFIG_HOME/chatfs/config.toml`, else `~/.config/chatfs/config.toml`.
public struct ConfigurationFile: Sendable {
    /// Absolute.
    public var path: String

    private static let largest = 1 << 20

    public init(path: String) {
        self.path = path
    }

    /// - Parameters:
    ///   - configHome: the value of `XDG_CONFIG_HOME`; a relative one does not count (XDG Base Directory
    ///     Specification).
    ///   - home: the home folder, absolute.
    public static func usual(configHome: String?, home: String) -> ConfigurationFile {
        let folder = configHome.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home + "/.config"
        return ConfigurationFile(path: folder + "/chatfs/config.toml")
    }

    /// The configuration; an empty one if there is no file. Blocks.
    ///
    /// - Throws: `storage`, or `access` if other users can change the file: it selects folders and relays.
    public func read(with reader: ConfigurationReader) throws(ConfigurationError) -> Configuration {
        guard let text = try contents() else { return Configuration() }
        do throws(ConfigurationError) {
            return try reader.read(text)
        } catch {
            throw ConfigurationError(error.code, "\(path): \(error.sentence)", cause: error.cause)
        }
    }

    /// Appends text to the file, and creates it if it is missing. A reader sees the old file or the new one. Blocks.
    ///
    /// - Throws: `syntax` or `content` if the file would not be valid; then it is unchanged. `storage`, `access`.
    public func append(_ text: String, checkedBy reader: ConfigurationReader) throws(ConfigurationError) {
        do throws(SystemError) { _ = try makeFolder() } catch { throw unchangeable(error) }
        try change { bytes throws(ConfigurationError) in
            try Self.appended(text, to: bytes ?? [], checkedBy: reader)
        }
    }

    /// Throws as `append` would with the present file. Changes nothing. Blocks.
    public func checkAppending(
        _ text: String, checkedBy reader: ConfigurationReader
    ) throws(ConfigurationError) {
        _ = try Self.appended(text, to: try contents() ?? [], checkedBy: reader)
    }

    private static func appended(
        _ text: String, to bytes: [UInt8], checkedBy reader: ConfigurationReader
    ) throws(ConfigurationError) -> [UInt8] {
        var bytes = bytes
        if let last = bytes.last, last != UInt8(ascii: "\n") { bytes.append(UInt8(ascii: "\n")) }
        if !bytes.isEmpty { bytes.append(UInt8(ascii: "\n")) }
        bytes += Array(text.utf8)
        _ = try reader.read(bytes)
        return bytes
    }

    /// Replaces the file, or the one that a link leads to. A reader sees the old file or the new one. Concurrent changes
    /// follow one another.
    /// - Parameter edit: Receives the bytes, nil without a file, and returns the new ones, nil for no change.
    func change(
        _ edit: ([UInt8]?) throws(ConfigurationError) -> [UInt8]?
    ) throws(ConfigurationError) {
        let place = try resolved()
        let folder: OpenFile
        do throws(SystemError) {
            folder = try OpenFile(place.parentPath, flags: O_RDONLY)
        } catch {
            throw unchangeable(error)
        }
        // Some network filesystems cannot lock a folder.
        try? folder.lock()
        defer { withExtendedLifetime(folder) {} }
        guard let bytes = try edit(try contents()) else { return }
        do throws(SystemError) {
            try PrivateFolder.write(bytes, to: place.lastPathName ?? place, in: folder)
        } catch {
            throw unchangeable(error)
        }
    }

    private func resolved() throws(ConfigurationError) -> String {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return path }
        do throws(SystemError) {
            return try SymbolicLink.resolved(path, to: "follow a link")
        } catch {
            throw unchangeable(error)
        }
    }

    private func unchangeable(_ error: SystemError) -> ConfigurationError {
        ConfigurationError(.storage, "Could not change \(path).", cause: error)
    }

    /// Creates the file, readable for its user alone, with its folder. Blocks.
    ///
    /// - Throws: `storage`.
    public func createIfMissing(example: String) throws(ConfigurationError) {
        do throws(SystemError) {
            let folder = try makeFolder()
            guard let name = path.lastPathName,
                faccessat(folder.descriptor, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0
            else { return }
            try PrivateFolder.write(Array(example.utf8), to: name, in: folder)
        } catch {
            throw ConfigurationError(.storage, "Could not create \(path).", cause: error)
        }
    }

    /// Opens the folder of the file, and creates it if it is missing.
    private func makeFolder() throws(SystemError) -> OpenFile {
        var folder = try OpenFile("/", flags: O_RDONLY)
        for name in path.pathNames.dropLast() {
            if mkdirat(folder.descriptor, name, 0o700) != 0, errno != EEXIST {
                throw SystemError(code: errno, operation: "make a folder")
            }
            folder = try OpenFile(name, flags: O_RDONLY, in: folder)
        }
        return folder
    }

    func contents() throws(ConfigurationError) -> [UInt8]? {
        let (file, status): (OpenFile, stat)
        do throws(SystemError) {
            file = try OpenFile(path, flags: O_RDONLY | O_NONBLOCK)
            status = try file.status()
        } catch {
            if error.code == ENOENT || error.code == ENOTDIR { return nil }
            throw unreadable(error)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw ConfigurationError(.storage, "\(path) is not a file.")
        }
        guard [0, geteuid()].contains(status.st_uid), status.st_mode & 0o022 == 0 else {
            throw ConfigurationError(
                .access, "Other users can change \(path); 'chmod go-w' and 'chown' end that.")
        }
        guard status.st_size <= Self.largest else {
            throw ConfigurationError(.storage, "\(path) is larger than 1 MiB.")
        }
        do throws(SystemError) {
            return try file.readAll(limit: Self.largest)
        } catch {
            throw unreadable(error)
        }
    }

    private func unreadable(_ error: SystemError) -> ConfigurationError {
        ConfigurationError(.storage, "Could not read \(path).", cause: error)
    }
}
