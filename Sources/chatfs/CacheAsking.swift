import Base
import CommandLineKit
import Desktop
import FileSystem
import Fuse
import Glibc
import Posix

/// What the commands about the cache have in common: finding the mount and its entries, and asking its
/// daemon.
enum CacheAsking {
    static let paths = Argument(
        "PATH", .file, count: .oneOrMore, "Files on a mount; of a folder, all files in it.")

    /// One connection to the daemon of a mount. Waits for its answer to a first look at most five seconds.
    static func daemon(of mounted: Mounted) async throws -> ControlClient {
        guard case .status(let bytes) = await mounted.answer(), let status = MountStatus.decoded(bytes) else {
            throw DesktopError(.noAnswer, "The mount at \(mounted.mountpoint) does not answer.")
        }
        let client = try await ThreadPool.shared.run { () throws(DesktopError) in
            try ControlClient.connect(profileFolder: status.controlFolder)
        }
        guard let client else {
            throw DesktopError(.noAnswer, "The mount at \(mounted.mountpoint) is being left.")
        }
        return client
    }

    /// Asks the same of every path, and goes on after one that is refused.
    static func ask(_ action: CacheWish.Action, _ paths: [String], verb: String) async throws {
        var failed = false
        for path in paths {
            do {
                for entry in try await ThreadPool.shared.run({ try entries(at: path) }) {
                    try await ask(action, entry, verb: verb)
                }
            } catch {
                failed = true
                Terminal.complain("chatfs: \(path): \(Base.sentence(of: error))")
            }
        }
        if failed { throw ExitCode.failure }
    }

    private struct Entry: Sendable {
        var path: String
        var number: UInt64
        var mounted: Mounted
    }

    private static func ask(_ action: CacheWish.Action, _ entry: Entry, verb: String) async throws {
        let daemon = try await daemon(of: entry.mounted)
        let display = ProgressDisplay(verb)
        defer { display.finish() }
        while true {
            let answer = try await ThreadPool.shared.run { () throws(DesktopError) in
                try daemon.ask(CacheWish(action, entry: entry.number))
            }
            if answer.isDone { return }
            display.update(done: UInt64(answer.progress), total: 100)
        }
    }

    /// The files behind a path. Blocks.
    private static func entries(at path: String) throws -> [Entry] {
        let absolute = try Mountpoint.absolutePath(of: path)
        let mounts = try Mounted.all()
        guard
            let mounted = mounts.filter({
                absolute == $0.mountpoint || absolute.hasPrefix($0.mountpoint + "/")
            }).max(by: { $0.mountpoint.count < $1.mountpoint.count })
        else { throw DesktopError(.notMounted, "It is not on a mount of ChatFS.") }
        return try entries(at: absolute, mounted)
    }

    private static func entries(at path: String, _ mounted: Mounted) throws -> [Entry] {
        var status = stat()
        try check("look at it") { lstat(path, &status) }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            return [Entry(path: path, number: UInt64(status.st_ino), mounted: mounted)]
        }
        let folder = try OpenFile(path, flags: O_RDONLY)
        return try PrivateFolder.names(in: folder).filter { $0 != ".chatfs" }
            .flatMap { try entries(at: path + "/" + $0, mounted) }
    }
}
