import CLinux
import Glibc

/// Unmounts as the mounting user may: umount2(2) for root, fusermount3 for others. Both use a path; a newer mount at or
/// over that path is left alone.
extension MountTable.Mount {
    public enum Ending: Hashable, Sendable {
        /// It is no longer in the mount table.
        case gone
        /// Files on it are open, or the system refused.
        case busy
        /// Another mount covers it.
        case covered
    }

    /// Unmounts it if no file on it is open.
    public func unmountIfIdle() async -> Ending { await end(lazily: false) }

    /// Detaches it at once, even if it is busy or its process is gone. Never waits for that process.
    public func detach() async -> Ending { await end(lazily: true) }

    /// Returns whether it is in the mount table, also after a move (before Linux 6.8: only at its path).
    /// - Throws: If the mount table is unreadable or the mountpoint unreachable.
    public func exists() throws(SystemError) -> Bool { try place() != .none }

    /// Its path, or nil if it is gone, covered or unknown.
    public func metPath() -> String? {
        guard case .met(let path)? = try? place() else { return nil }
        return path
    }

    private enum Place: Hashable {
        /// It has left the mount table.
        case none
        /// Another mount covers it or a folder above it.
        case covered
        /// It is the topmost mount at this path.
        case met(String)
    }

    /// Finds the mount. Since 6.8 the kernel identifies mounts by serial numbers. Before, a later mount may have its
    /// number and device, so its path must match too.
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
        /// The kernel is too old, or forbids the system call here.
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
        /// Failed with this errno at this path.
        case refused(Int32, String)
    }

    /// umount2(2), if this mount is the topmost one at its path. Blocks.
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
