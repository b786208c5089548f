import Base
import CommandLineKit
import Glibc
import Posix

/// The folder of a demo: two mountpoints and the hidden data. The end of the demo removes these and nothing else.
final class DemoFolder: Sendable {
    static let people = ["alice", "bob"]
    private static let stateName = ".chatfs-demo"
    private static let madeMark = "made-by-demo"

    /// Absolute path.
    let path: String
    private let wasMade: Bool
    private let state: PrivateFolder
    private let lock: OpenFile

    /// Creates the folder, or takes an empty one or that of a killed demo.
    init(_ name: String) throws {
        let isNew = mkdir(name, 0o700) == 0
        if !isNew && errno != EEXIST { throw SystemError(code: errno, operation: "make the demo's folder") }
        path = try SymbolicLink.resolved(name, to: "find the demo's folder")
        let statePath = path + "/" + Self.stateName
        let found = Set(try PrivateFolder.names(in: OpenFile(path, flags: O_RDONLY | O_DIRECTORY)))
        guard found.isSubset(of: [Self.stateName] + Self.people),
            found.isEmpty || found.contains(Self.stateName)
        else {
            throw DemoError(.folder, "The folder \(name) is not empty; choose an empty or a new one.")
        }
        state = try PrivateFolder(statePath, purpose: "chatfs demo")
        // A folder created by a killed demo is removed by the demo that takes it over.
        if isNew { try state.write([], to: Self.madeMark) }
        wasMade = faccessat(state.directory.descriptor, Self.madeMark, F_OK, 0) == 0
        lock = try OpenFile("lock", flags: O_RDWR | O_CREAT, in: state.directory)
        guard try lock.tryLock() else {
            throw DemoError(
                .folder, "A demo is already running in \(name); end it, or choose another folder.")
        }
    }

    /// Removes a killed demo's remains and creates the mountpoints.
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
    /// Returns a path within the hidden data.
    func state(_ name: String) -> String { state.path + "/" + name }

    /// Detaches remaining mounts and removes everything that the demo created.
    func remove() async throws {
        await detachMounts()
        try await ThreadPool.shared.run { [self] in
            for person in Self.people where rmdir(mountpoint(of: person)) != 0 && errno != ENOENT {
                throw SystemError(code: errno, operation: "remove the mountpoint of \(person)")
            }
            try state.remove(lock: "lock")
            if wasMade, rmdir(path) != 0 && errno != ENOENT && errno != ENOTEMPTY {
                throw SystemError(code: errno, operation: "remove the demo's folder")
            }
        }
    }

    /// Detaches mounts whose daemons are dead or stuck. Using the mountpoint reports failures.
    private func detachMounts() async {
        for mount in (try? MountTable.mounts(below: path)) ?? [] where mount.type == "fuse.chatfs" {
            _ = await mount.detach()
        }
    }
}
