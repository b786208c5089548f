import Base
import CommandLineKit
import Glibc
import Posix

/// The folder of a demo: two mountpoints and, hidden, everything the demo keeps. All of it is removed
/// at the end, and only it.
final class DemoFolder: Sendable {
    static let people = ["alice", "bob"]
    private static let stateName = ".chatfs-demo"
    private static let madeMark = "made-by-demo"

    /// Absolute.
    let path: String
    private let wasMade: Bool
    private let state: PrivateFolder
    private let lock: OpenFile

    /// Makes the folder, or takes an empty one, or one that a killed demo left behind.
    init(_ name: String) throws {
        let isNew = mkdir(name, 0o700) == 0
        if !isNew && errno != EEXIST { throw SystemError(code: errno, operation: "make the demo's folder") }
        guard let resolved = realpath(name, nil) else {
            throw SystemError(code: errno, operation: "find the demo's folder")
        }
        defer { free(resolved) }
        path = String(cString: resolved)
        let statePath = path + "/" + Self.stateName
        let found = Set(try PrivateFolder.names(in: OpenFile(path, flags: O_RDONLY | O_DIRECTORY)))
        guard found.isSubset(of: [Self.stateName] + Self.people),
            found.isEmpty || found.contains(Self.stateName)
        else {
            throw DemoError(.folder, "The folder \(name) is not empty; name another one or an empty one.")
        }
        state = try PrivateFolder(statePath, purpose: "chatfs demo")
        // A folder that a killed demo made is still to be removed by the one that takes it over.
        if isNew { try state.write([], to: Self.madeMark) }
        wasMade = faccessat(state.directory.descriptor, Self.madeMark, F_OK, 0) == 0
        lock = try OpenFile("lock", flags: O_RDWR | O_CREAT, in: state.directory)
        guard try lock.tryLock() else {
            throw DemoError(.folder, "A demo is already running in \(name); end it, or name another folder.")
        }
    }

    /// Sweeps what a killed demo left, then makes the mountpoints.
    func prepare() async throws {
        await detachMounts()
        try await ThreadPool.shared.run { [self] in
            try PrivateFolder.removeContents(
                of: state.directory, keeping: [PrivateFolder.marker, Self.madeMark, "lock"])
            for person in Self.people where mkdir(mountpoint(of: person), 0o700) != 0 && errno != EEXIST {
                throw SystemError(code: errno, operation: "make a mountpoint")
            }
        }
    }

    func mountpoint(of person: String) -> String { path + "/" + person }
    /// A path among what the demo keeps.
    func state(_ name: String) -> String { state.path + "/" + name }

    /// Removes everything the demo made. Mounts that are still there are detached first.
    func remove() async throws {
        await detachMounts()
        try await ThreadPool.shared.run { [self] in
            for person in Self.people where rmdir(mountpoint(of: person)) != 0 && errno != ENOENT {
                throw SystemError(code: errno, operation: "remove the mountpoint of \(person)")
            }
            try state.remove()
            if wasMade, rmdir(path) != 0 && errno != ENOENT && errno != ENOTEMPTY {
                throw SystemError(code: errno, operation: "remove the demo's folder")
            }
        }
    }

    /// Mounts whose daemon is dead or did not leave. What cannot be detached shows when its mountpoint
    /// is used; so does that the table of mounts could not be read.
    private func detachMounts() async {
        for mount in (try? MountTable.mounts(below: path)) ?? [] where mount.type == "fuse.chatfs" {
            _ = await mount.detach()
        }
    }
}
