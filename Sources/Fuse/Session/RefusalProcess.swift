import CLinux
import Glibc
import Posix

/// Refuses requests in place of a daemon that was killed while a notice waits. The process runs this program, started
/// by `KernelNotices`; its standard input is a descriptor of the connection.
///
/// A notice waits for a kernel lock for which other processes may also wait. Each of them sends a request when it gets
/// the lock, which no daemon would answer. The connection does not end, because the waiting notice holds it open.
public enum RefusalProcess {
    /// First argument that selects this process. The second argument is the daemon's process id.
    public static let word = "refuse-requests"

    /// Size in bytes of the largest request, a write of 1 MiB with its header, plus the margin that the kernel
    /// requires.
    private static let maxRequest = 2 << 20
    /// FUSE_FORGET, FUSE_INTERRUPT and FUSE_BATCH_FORGET of `linux/fuse.h` are not answered.
    private static let unanswered: Set<UInt32> = [2, 36, 42]

    /// Waits for the daemon's death and then refuses requests. Reads no request while the daemon lives.
    public static func main(_ arguments: [String]) -> Never {
        ProcessHardening.apply()
        _ = chatfs_confine_daemon()
        signal(SIGPIPE, SIG_IGN)
        guard let daemon = arguments.first.flatMap({ pid_t($0) }) else { _exit(2) }
        let process = chatfs_process_descriptor(daemon)
        // -1: the daemon has already ended.
        if process >= 0, hasBeenKilled(daemon, process) { refuse(until: process) }
        _exit(0)
    }

    /// Waits until the daemon is dead except for threads that wait in the kernel. Returns false if it ended completely.
    private static func hasBeenKilled(_ daemon: pid_t, _ process: Int32) -> Bool {
        // The daemon reads this process's output, which stays empty.
        var ends = [
            pollfd(fd: STDOUT_FILENO, events: 0, revents: 0),
            pollfd(fd: process, events: Int16(POLLIN), revents: 0),
        ]
        poll(&ends, milliseconds: -1)
        while ends[1].revents == 0 {
            if hasEnded(daemon) { return true }
            // The daemon's descriptors close just before its end. Otherwise it lives and is about to end this process.
            ends[0].fd = -1
            poll(&ends, milliseconds: 5)
        }
        return false
    }

    /// Returns true if the daemon's first thread has ended. Its first thread ends only with the process.
    private static func hasEnded(_ daemon: pid_t) -> Bool {
        let bytes = ProcessInformation.bytes(of: "/proc/\(daemon)/stat") ?? []
        guard let name = bytes.lastIndex(of: UInt8(ascii: ")")) else { return false }
        return bytes[name...].dropFirst(2).first == UInt8(ascii: "Z")
    }

    /// Refuses requests until the daemon's last thread or the connection has ended.
    private static func refuse(until process: Int32) {
        // A pending request may be gone by the read.
        _ = fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: maxRequest, alignment: 8)
        var ends = [STDIN_FILENO, process].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while true {
            poll(&ends, milliseconds: -1)
            guard ends[1].revents == 0 else { return }
            let count = read(STDIN_FILENO, buffer.baseAddress, buffer.count)
            guard count > 0 else {
                // ENOENT: the caller was interrupted.
                if [EAGAIN, EINTR, ENOENT].contains(errno) { continue }
                return
            }
            guard count >= MemoryLayout<chatfs_fuse_request>.size else { return }
            let request = buffer.load(as: chatfs_fuse_request.self)
            if unanswered.contains(request.operation) { continue }
            var reply = chatfs_fuse_reply(
                length: UInt32(MemoryLayout<chatfs_fuse_reply>.size), error: -ENOTCONN, unique: request.unique
            )
            _ = write(STDIN_FILENO, &reply, MemoryLayout<chatfs_fuse_reply>.size)
        }
    }
}
