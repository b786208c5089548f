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

    /// Whether it is in the mount table, wherever it was moved to (before Linux 6.8: at its path).
    /// - Throws: where the mount table cannot be read, or the place of the mount not be reached.
    public func exists() throws(SystemError) -> Bool { try place() != .none }

    /// Where it is met; nil when it has gone, is covered, or the system does not say.
    public func metPath() -> String? {
        guard case .met(let path)? = try? place() else { return nil }
        return path
    }

    private enum Place: Hashable {
        /// It has left the mount table.
        case none
        /// Something else is mounted over it, or over a folder above it.
        case covered
        /// It is what is met at this path.
        case met(String)
    }

    /// Where it is now. The kernel knows mounts by their serial numbers since 6.8. Before, another one that was made
    /// since this one left may have its number and device: it is this one only at the same path.
    private func place() throws(SystemError) -> Place {
        let path: String
        switch placeBySerial() {
        case .found(let found): path = found
        case .gone: return .none
        case .unknown:
            let isListed = try MountTable.mounts().contains {
                $0.id == id && $0.device == device && $0.path == self.path
            }
            guard isListed else { return .none }
            path = self.path
        }
        guard let met = try MountTable.mount(at: path), met.id == id, met.serial == serial || serial == nil
        else { return .covered }
        return .met(path)
    }

    private enum Answer {
        case found(String)
        case gone
        /// The kernel is too old, or its system call not allowed here.
        case unknown
    }

    private func placeBySerial() -> Answer {
        guard let serial else { return .unknown }
        var path = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        return switch chatfs_mount_point(serial, &path, path.count) {
        case 1: .found(String(decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
        case 0: .gone
        default: .unknown
        }
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
            switch try place() {
            case .none: return .ended(.gone)
            case .covered: return .ended(.covered)
            case .met(let path):
                return chatfs_unmount(path, lazily ? 1 : 0) == 0 ? .ended(.gone) : .refused(errno, path)
            }
        } catch {
            return .ended(.busy)
        }
    }
}
