import CLinux
import Glibc

/// Taking a mount away, as the user who made it may: umount2(2) for root, fusermount3 for others. Both go by path;
/// what has come to lie there in its place or over it is left alone.
extension MountTable.Mount {
    public enum Ending: Hashable, Sendable {
        /// It is not in the mount table (any more).
        case gone
        /// Files on it are open, or the system refused.
        case busy
        /// Something else is mounted over it.
        case covered
    }

    /// Takes it away when nothing on it is open.
    public func unmountIfIdle() async -> Ending { await end(lazily: false) }

    /// Takes it away at once, whoever uses it and whether its process lives or not. Never waits for that process.
    public func detach() async -> Ending { await end(lazily: true) }

    /// Whether it is in the mount table, wherever it was moved to.
    public func exists() throws(SystemError) -> Bool { try current() != nil }

    private func current() throws(SystemError) -> Self? {
        try MountTable.mounts().first { $0.id == id && $0.device == device }
    }

    private func end(lazily: Bool) async -> Ending {
        let (refusal, path): (Int32, String)
        switch await ThreadPool.shared.run({ tried(lazily: lazily) }) {
        case .ended(let ending): return ending
        case .refused(let code, let place): (refusal, path) = (code, place)
        }
        guard refusal == EPERM else { return .busy }
        var settings = ChildProcess.Settings(
            "/usr/bin/fusermount3", ["-u", "-q"] + (lazily ? ["-z"] : []) + [path])
        settings.output = .null
        settings.errors = .null
        settings.ownGroup = true
        guard let child = try? await ChildProcess.start(settings) else { return .busy }
        return await child.ending(within: .seconds(10)) == .code(0) ? .gone : .busy
    }

    private enum Attempt {
        case ended(Ending)
        /// With this errno, at this path.
        case refused(Int32, String)
    }

    /// umount2(2), if this mount is the one that is met at its path. Blocks.
    private func tried(lazily: Bool) -> Attempt {
        do throws(SystemError) {
            guard let current = try current() else { return .ended(.gone) }
            guard try MountTable.mount(at: current.path) == current else { return .ended(.covered) }
            return chatfs_unmount(current.path, lazily ? 1 : 0) == 0
                ? .ended(.gone) : .refused(errno, current.path)
        } catch {
            return .ended(.busy)
        }
    }
}
