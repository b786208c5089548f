import Base
import Glibc
import Posix

/// A mount of ChatFS seen from another process: found in the mount table and queried through its control files.
public struct Mounted: Hashable, Sendable {
    /// The state of its daemon.
    public enum Answer: Hashable, Sendable {
        /// The bytes of `.chatfs/status.json`.
        case status([UInt8])
        /// The daemon has ended and left the mount (ENOTCONN).
        case disconnected
        /// No reply before the timeout.
        case silent
        /// Another user's mount.
        case foreign
        /// Unknown, because this process is out of descriptors or memory.
        case unasked(SystemError)
    }

    public let mount: MountTable.Mount
    /// Absolute.
    public var mountpoint: String { mount.path }

    static let type = "fuse.chatfs"
    private static let timeout = Duration.seconds(5)

    /// Returns all mounts visible to this process, in mount order.
    /// - Throws: `.system` if the mount table cannot be read.
    public static func all() throws(DesktopError) -> [Mounted] {
        do throws(SystemError) {
            var all: [Mounted] = []
            for listed in try MountTable.mounts() where listed.type == type {
                // Resolved by path, because the table alone cannot tell a mount from a later one on top of it. Other
                // users' mounts may lie in inaccessible directories.
                let met = try? MountTable.mount(at: listed.path)
                all.append(Mounted(mount: met?.id == listed.id ? met ?? listed : listed))
            }
            return all
        } catch {
            throw DesktopError(error)
        }
    }

    /// Returns the mount at `mountpoint`, an absolute path.
    /// - Throws: `.notMounted`; `.busy` if another mount covers it; `.system` if that is unknown.
    public static func at(_ mountpoint: String) throws(DesktopError) -> Mounted {
        let found: MountTable.Mount?
        do throws(SystemError) {
            found = try MountTable.mount(at: mountpoint)
        } catch {
            throw DesktopError(error)
        }
        if let found, found.type == type { return Mounted(mount: found) }
        throw try all().contains { $0.mountpoint.hasSameBytes(as: mountpoint) }
            ? DesktopError(
                .busy, "Another mount covers the one at \(mountpoint): unmount that first.")
            : DesktopError(.notMounted, "No ChatFS mount exists at \(mountpoint).")
    }

    /// Queries the daemon from a thread of its own and waits at most five seconds.
    public func answer() async -> Answer {
        let path = mountpoint + "/.chatfs/status.json"
        return await withCheckedContinuation { continuation in
            let once = Lock<CheckedContinuation<Answer, Never>?>(continuation)
            let resume = { @Sendable (answer: Answer) in
                once.withLock { waiting in
                    defer { waiting = nil }
                    return waiting
                }?.resume(returning: answer)
            }
            Thread.start("mount-status") { resume(Self.read(path)) }
            Task {
                try? await Task.sleep(for: Self.timeout)
                resume(.silent)
            }
        }
    }

    /// Queries mounts together, so that silent ones delay the others by five seconds in all. Keeps the order.
    public static func answers(
        of mounts: [Mounted], from ask: @escaping @Sendable (Mounted) async -> Answer = { await $0.answer() }
    ) async -> [(mounted: Mounted, answer: Answer)] {
        await withTaskGroup(of: (index: Int, answer: Answer).self) { group in
            for (index, mounted) in mounts.enumerated() {
                group.addTask { (index: index, answer: await ask(mounted)) }
            }
            var answers: [Answer?] = mounts.map { _ in nil }
            for await (index, answer) in group { answers[index] = answer }
            return zip(mounts, answers).map { (mounted: $0, answer: $1 ?? .silent) }
        }
    }

    /// Returns this user's mounts. If there are several, omits those whose daemons have ended; silent ones stay.
    /// Blocks.
    /// - Throws: `.system` if the mount table cannot be read.
    public static func own() throws(DesktopError) -> [Mounted] {
        let own = try all().filter { $0.mount.user == nil || $0.mount.user == geteuid() }
        guard own.count > 1 else { return own }
        let answers = Lock<[Answer?]>(own.map { _ in nil })
        for (index, mounted) in own.enumerated() {
            let path = mounted.mountpoint + "/.chatfs/status.json"
            // The read may never return.
            Thread.start("mount-status") {
                let answer = read(path)
                answers.withLock { $0[index] = answer }
            }
        }
        let end = ContinuousClock.now + timeout
        while answers.withLock({ $0.contains(nil) }), ContinuousClock.now < end { usleep(2000) }
        let living = zip(own, answers.withLock { $0 }).filter { $0.1 != .disconnected }.map(\.0)
        return living.isEmpty ? own : living
    }

    static func read(_ path: String) -> Answer {
        do throws(SystemError) {
            let file = try OpenFile(path, flags: O_RDONLY)
            // The size from `stat` may be outdated.
            return .status(try file.read(count: 16 << 20, at: 0))
        } catch {
            switch error.code {
            case ENOTCONN: return .disconnected
            case EACCES, EPERM: return .foreign
            case EMFILE, ENFILE, ENOMEM: return .unasked(error)
            default: return .silent
            }
        }
    }

    /// Unmounts the leftover of a dead daemon.
    /// - Throws: `.system`.
    public func detach() async throws(DesktopError) {
        guard await mount.detach() == .gone else {
            throw DesktopError(.system, "The mount at \(mountpoint) could not be taken away.")
        }
    }
}
