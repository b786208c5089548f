import CLinux
import Glibc
import Posix

/// The process that refuses requests in the place of a daemon that was killed while a notice waits: this same program,
/// started by `KernelNotices`. Its standard input is a descriptor of the connection.
///
/// A notice waits for a lock of the kernel, and others may have waited longer: each of them asks the daemon something
/// when it gets the lock, and nobody would answer. The connection does not end meanwhile, because the notice that waits
/// holds it open.
public enum RefusalProcess {
    /// As the first argument it makes `chatfs` this process. The second is the daemon's process.
    public static let word = "refuse-requests"

    /// As much as the kernel gives at once, and more than it wants to see offered: a write of 1 MiB with its header.
    private static let maxRequest = 2 << 20
    /// FUSE_FORGET, FUSE_INTERRUPT and FUSE_BATCH_FORGET of `linux/fuse.h` are not answered.
    private static let unanswered: Set<UInt32> = [2, 36, 42]

    /// Ends without having asked for a request as long as the daemon lives.
    public static func main(_ arguments: [String]) -> Never {
        ProcessHardening.apply()
        _ = chatfs_confine_daemon()
        signal(SIGPIPE, SIG_IGN)
        guard let daemon = arguments.first.flatMap({ pid_t($0) }) else { _exit(2) }
        let process = chatfs_process_descriptor(daemon)
        // With -1 it has ended already.
        if process >= 0, hasBeenKilled(daemon, process) { refuse(until: process) }
        _exit(0)
    }

    /// Waits until the daemon has ended but for threads that wait in the kernel. False when none does.
    private static func hasBeenKilled(_ daemon: pid_t, _ process: Int32) -> Bool {
        // It is the daemon that reads what this process says, which is nothing.
        var ends = [
            pollfd(fd: STDOUT_FILENO, events: 0, revents: 0),
            pollfd(fd: process, events: Int16(POLLIN), revents: 0),
        ]
        poll(&ends, milliseconds: -1)
        while ends[1].revents == 0 {
            if hasEnded(daemon) { return true }
            // Its descriptors go a moment before it does. Or it lives, and is about to end this process.
            ends[0].fd = -1
            poll(&ends, milliseconds: 5)
        }
        return false
    }

    /// Whether its first thread has: with the process, for this is no program that lets it end alone.
    private static func hasEnded(_ daemon: pid_t) -> Bool {
        let bytes = ProcessInformation.bytes(of: "/proc/\(daemon)/stat") ?? []
        guard let name = bytes.lastIndex(of: UInt8(ascii: ")")) else { return false }
        return bytes[name...].dropFirst(2).first == UInt8(ascii: "Z")
    }

    /// Until the last thread of the daemon has ended, or the connection.
    private static func refuse(until process: Int32) {
        // What was there may be gone when it is read.
        _ = fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: maxRequest, alignment: 8)
        var ends = [STDIN_FILENO, process].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while true {
            poll(&ends, milliseconds: -1)
            guard ends[1].revents == 0 else { return }
            let count = read(STDIN_FILENO, buffer.baseAddress, buffer.count)
            guard count > 0 else {
                // ENOENT: who asked has given it up.
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
