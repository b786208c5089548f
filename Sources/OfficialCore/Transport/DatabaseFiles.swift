import Base
import Glibc
import Posix

/// The two databases of an official core as files. Never opened for writing; only the first bytes are read.
public struct DatabaseFiles: Hashable, Sendable {
    /// Path without `_chat.db` and `_agent.db`.
    public let prefix: String

    /// - Throws: `.invalidCommand` if the prefix is not an absolute path.
    public init(prefix: String) throws(OfficialCoreError) {
        guard prefix.isAbsolutePath, prefix.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw OfficialCoreError(
                .invalidCommand, "Name the database by its absolute path without _chat.db and _agent.db.")
        }
        self.prefix = prefix
    }

    /// The default of `simplex-chat`: `~/.simplex/simplex_v1`.
    public static func defaultPrefix() -> String {
        (getenv("HOME").map { String(cString: $0) } ?? "") + "/.simplex/simplex_v1"
    }

    public enum Condition: Hashable, Sendable {
        case missing
        case plain
        /// Not a plain SQLite file: encrypted or damaged.
        case encrypted
    }

    private var paths: [String] { [prefix + "_chat.db", prefix + "_agent.db"] }

    /// Examines the chat database. Blocks briefly.
    /// - Throws: Errors of opening or reading an existing file.
    public func condition() throws(SystemError) -> Condition {
        guard let file = try OpenFile.existing(paths[0], flags: O_RDONLY) else { return .missing }
        let start = try file.read(count: 16, at: 0)
        if start.isEmpty { return .missing }
        return start == Array("SQLite format 3\0".utf8) ? .plain : .encrypted
    }

    /// Rejects a prefix with existing databases or their copies, which a new core would overwrite.
    /// - Throws: `.inUse`.
    public func requireFree() throws(OfficialCoreError) {
        let taken = (paths + copies).filter { path in
            var status = stat()
            return lstat(path, &status) == 0 || errno != ENOENT
        }
        guard let first = taken.first else { return }
        throw OfficialCoreError(
            .inUse,
            "A SimpleX database or a copy of one already exists at \(prefix), and an import would replace it "
                + "(\(taken.count == 1 ? first : "\(first) and \(taken.count - 1) more")): choose another path "
                + "with --database.")
    }

    /// Deletes both databases and the core's copies. Only for databases that the caller has just created.
    public func remove() {
        for path in paths { unlink(path) }
        removeCopies()
    }

    /// Restricts access to the owner. Cores create databases with the permissions of the umask or the
    /// archive.
    public func closeToOthers() { for path in paths { chmod(path, 0o600) } }

    /// Deletes the core's copies of databases that it replaced.
    public func removeCopies() { for path in copies { unlink(path) } }

    /// Paths of these copies.
    public var copies: [String] { paths.map { $0 + ".bak" } }

    /// Returns another process of this user that has a database open. Blocks briefly.
    public func user() -> ProcessName? {
        let files = Set(paths.compactMap(FileIdentity.init))
        guard !files.isEmpty else { return nil }
        return ProcessInformation.processes().first { process in
            process != getpid()
                && ProcessTable.descriptors(of: process).contains { path in
                    FileIdentity(path).map(files.contains) ?? false
                }
        }.map(ProcessName.init)
    }

    /// Throws `.inUse` if another process has them open.
    func checkUnused() throws(OfficialCoreError) {
        guard let user = user() else { return }
        throw OfficialCoreError(
            .inUse,
            "\(user) has this SimpleX database open; only one program may. End it, or attach to it with "
                + "--core ws://127.0.0.1:PORT.")
    }
}

/// A process for messages: `simplex-chat (process 4711)`.
public struct ProcessName: Hashable, Sendable, CustomStringConvertible {
    public let identifier: pid_t
    public let name: String

    init(_ identifier: pid_t) {
        self.identifier = identifier
        let text = ProcessInformation.bytes(of: "/proc/\(identifier)/comm", limit: 64)
        let printable = (text ?? []).filter { $0 > 0x20 && $0 < 0x7F }
        name = printable.isEmpty ? "A program" : String(decoding: printable, as: UTF8.self)
    }

    public var description: String { "\(name) (process \(identifier))" }
}

private struct FileIdentity: Hashable {
    let device: dev_t
    let inode: ino_t

    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        device = status.st_dev
        inode = status.st_ino
    }
}

/// Process information from /proc. Processes of other users are partly hidden.
enum ProcessTable {
    /// Paths below /proc of a process's open descriptors.
    static func descriptors(of process: pid_t) -> [String] {
        let path = "/proc/\(process)/fd"
        return ProcessInformation.names(in: path).map { path + "/" + $0 }
    }

    /// Inodes of a process's open sockets.
    static func sockets(of process: pid_t) -> Set<UInt64> {
        Set(
            descriptors(of: process).compactMap { path -> UInt64? in
                guard let target = SymbolicLink.target(of: path), target.hasPrefix("socket:["),
                    target.hasSuffix("]")
                else { return nil }
                return UInt64(target.dropFirst(8).dropLast())
            })
    }

    /// Inodes of sockets that listen on a TCP port, on any address.
    static func listeners(on port: UInt16) -> Set<UInt64> {
        var inodes: Set<UInt64> = []
        for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
            for line in lines(of: table).dropFirst() {
                let fields = line.split(separator: " ", omittingEmptySubsequences: true)
                // 0A is LISTEN.
                guard fields.count > 9, fields[3] == "0A",
                    let number = fields[1].split(separator: ":").last.flatMap({ UInt16($0, radix: 16) }),
                    number == port, let inode = UInt64(fields[9])
                else { continue }
                inodes.insert(inode)
            }
        }
        return inodes
    }

    private static func lines(of path: String) -> [Substring] {
        let bytes = ProcessInformation.bytes(of: path, limit: 64 << 20) ?? []
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }
}
