import Base
import Glibc
import Posix

/// A test's own folder with mode 0700, removed with its contents at the last reference or at the end of the process.
/// Mounts left by a failed test are detached first.
public final class TemporaryFolder: Sendable {
    /// Absolute, without symbolic links.
    public let path: String

    public init() throws {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array((base + "/chatfs-test-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil, let resolved = realpath(template, nil) else {
            throw SystemError(code: errno, operation: "make a temporary folder")
        }
        defer { free(resolved) }
        path = String(cString: resolved)
        Self.present.withLock { _ = $0.insert(path) }
        _ = Self.removesAllAtExit
    }

    deinit {
        Self.present.withLock { _ = $0.remove(path) }
        Self.remove(path)
    }

    private static let present = Lock<Set<String>>([])
    private static let removesAllAtExit: Void = {
        atexit { for path in TemporaryFolder.present.withLock({ $0 }) { TemporaryFolder.remove(path) } }
    }()

    private static func remove(_ path: String) {
        for mount in (try? MountTable.mounts(below: path)) ?? [] { Unmounting.detach(mount.path) }
        guard let folder = try? OpenFile(path, flags: O_RDONLY) else { return }
        // A read-only folder would keep its files.
        try? PrivateFolder.removeContents(of: folder, keeping: [])
        rmdir(path)
    }

    /// Returns the path of a name inside.
    public func path(_ name: String) -> String { path + "/" + name }

    /// Creates a folder inside and returns its path.
    public func makeFolder(_ name: String) throws -> String {
        try check("make a folder") { mkdir(path(name), 0o700) }
        return path(name)
    }

    /// Writes a file inside and returns its path.
    @discardableResult
    public func write(_ bytes: [UInt8], to name: String) throws -> String {
        let file = try OpenFile(path(name), flags: O_WRONLY | O_CREAT | O_TRUNC)
        try file.write(bytes, at: 0)
        return path(name)
    }

    /// Returns the bytes of a file inside.
    public func read(_ name: String) throws -> [UInt8] {
        let file = try OpenFile(path(name), flags: O_RDONLY)
        return try file.read(count: Int(try file.size()), at: 0)
    }

    /// Returns the sorted names in the folder, or in one inside it.
    public func names(in name: String = ".") throws -> [String] {
        try PrivateFolder.names(in: OpenFile(path(name), flags: O_RDONLY))
    }
}

/// Removes mounts whose daemon may be dead.
public enum Unmounting {
    /// Detaches it at once, even if it is busy. Never waits for the daemon.
    public static func detach(_ path: String) {
        if umount2(path, Int32(MNT_DETACH)) == 0 { return }
        _ = try? Shell.runBlocking("/usr/bin/fusermount3", ["-u", "-z", path], limit: .seconds(10))
    }
}
