import CLinux
import Glibc
import Posix

/// The process that makes system calls on the mount. It runs this program, started by `WatcherNotices`.
///
/// It is separate because a thread that waits for a FUSE reply ignores signals. A waiting thread of a killed daemon
/// would hold open the connection that it waits for, and neither would end.
public enum WatcherProcess {
    /// First argument that selects this process.
    public static let word = "raise-folder-events"

    /// Makes calls until the input ends, then exits.
    public static func main() -> Never {
        ProcessHardening.apply()
        let (input, output) = (OpenFile(adopting: STDIN_FILENO), OpenFile(adopting: STDOUT_FILENO))
        var root: OpenFile?
        while let call = next(from: input) {
            let code = perform(call, &root)
            // The daemon has ended.
            guard (try? output.send(withUnsafeBytes(of: code) { Array($0) })) != nil else { break }
        }
        _exit(0)
    }

    /// Returns nil at the end of the input.
    private static func next(from input: OpenFile) -> MountCall? {
        var length: UInt32 = 0
        let size = withUnsafeMutableBytes(of: &length) { try? input.receive(into: $0) }
        guard size == 4, length <= MountCall.maxLength else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(length))
        let count = bytes.withUnsafeMutableBytes { try? input.receive(into: $0) }
        return count == bytes.count ? MountCall(encoded: bytes) : nil
    }

    /// Returns 0 or an errno.
    private static func perform(_ call: MountCall, _ root: inout OpenFile?) -> Int32 {
        switch call {
        case .enter(let path, let id, let serial):
            root = MountTable.root(
                at: String(decoding: path, as: UTF8.self), id: Int(clamping: id),
                serial: serial == 0 ? nil : serial)
            return root == nil ? ESTALE : 0
        case .leave:
            root = nil
            return 0
        default:
            guard let root else { return EBADF }
            return make(call, root.descriptor) == 0 ? 0 : errno
        }
    }

    private static func make(_ call: MountCall, _ root: Int32) -> Int32 {
        switch call {
        case .makeFile(let path): mknodat(root, text(path), S_IFREG | 0o400, 0)
        case .makeFolder(let path): mkdirat(root, text(path), 0o700)
        case .removeFile(let path): unlinkat(root, text(path), 0)
        case .removeFolder(let path): unlinkat(root, text(path), AT_REMOVEDIR)
        case .rename(let path, let new): renameat(root, text(path), root, text(new))
        case .touch(let path, let mode): fchmodat(root, path.isEmpty ? [46, 0] : text(path), mode_t(mode), 0)
        case .enter, .leave: 0
        }
    }

    private static func text(_ path: [UInt8]) -> [CChar] { (path + [0]).map { CChar(bitPattern: $0) } }
}
