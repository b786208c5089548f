import Base
import Glibc
import Posix

/// A mount of ChatFS as others see it: found in the mount table, asked through its control files.
public struct Mounted: Hashable, Sendable {
    /// How the daemon behind it answers.
    public enum Answer: Hashable, Sendable {
        /// The bytes of `.chatfs/status.json`.
        case status([UInt8])
        /// The daemon has ended and left the mount (ENOTCONN).
        case disconnected
        /// It said nothing in time.
        case silent
        /// Of another user.
        case foreign
        /// This process has no descriptor or memory left to ask with, which says nothing of the mount.
        case unasked(SystemError)
    }

    public let mount: MountTable.Mount
    /// Absolute.
    public var mountpoint: String { mount.path }

    static let type = "fuse.chatfs"
    private static let timeout = Duration.seconds(5)

    /// All on this machine that this process sees, in the order of mounting.
    /// - Throws: `.system` where the mount table cannot be read.
    public static func all() throws(DesktopError) -> [Mounted] {
        do throws(SystemError) {
            var all: [Mounted] = []
            for listed in try MountTable.mounts() where listed.type == type {
                // By its path, where it is what is met there: the table alone cannot tell it from a later one.
                // Those of others may lie in folders that are closed to this user.
                let met = try? MountTable.mount(at: listed.path)
                all.append(Mounted(mount: met?.id == listed.id ? met ?? listed : listed))
            }
            return all
        } catch {
            throw DesktopError(error)
        }
    }

    /// The one at `mountpoint`, an absolute path.
    /// - Throws: `.notMounted`; `.busy` where something else is mounted over it; `.system` where that cannot be
    ///   found out.
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
                .busy, "Something else is mounted over the mount at \(mountpoint): take that away first.")
            : DesktopError(.notMounted, "Nothing of ChatFS is mounted at \(mountpoint).")
    }

    /// Asks the daemon. Waits for it at most five seconds: a thread of its own does the asking.
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

    /// Those of this user, and of several those whose daemons have not ended. Of what answers nothing within five
    /// seconds it is not known, so it stays. Blocks.
    /// - Throws: `.system` where the mount table cannot be read.
    public static func own() throws(DesktopError) -> [Mounted] {
        let own = try all().filter { $0.mount.user == nil || $0.mount.user == geteuid() }
        guard own.count > 1 else { return own }
        let answers = Lock<[Answer?]>(own.map { _ in nil })
        for (index, mounted) in own.enumerated() {
            let path = mounted.mountpoint + "/.chatfs/status.json"
            // It may wait for ever.
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
            // The size that `stat` says may be of an earlier moment.
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

    /// Takes away what a daemon that has ended left.
    /// - Throws: `.system`.
    public func detach() async throws(DesktopError) {
        guard await mount.detach() == .gone else {
            throw DesktopError(.system, "The mount at \(mountpoint) could not be taken away.")
        }
    }
}
