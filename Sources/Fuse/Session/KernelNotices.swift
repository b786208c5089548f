import FileSystem
import Posix

/// Sends notices to the kernel, in their order, on a thread of their own: never one of libfuse's, because a notice waits
/// for locks of the kernel that a request holds while it is answered (the lock of a folder, that of a page).
///
/// That wait ends for no signal. If the daemon is killed meanwhile, the kernel ends the request when it closes the
/// descriptor through which the request was read. So the thread has descriptors of its own, with another one of the
/// connection (`RequestServer.separateNotices`): those of the other threads are closed while it still waits. With
/// common ones, notice and request would wait for each other for ever.
final class KernelNotices: Sendable {
    private let server: RequestServer
    private let thread = ThreadPool(name: "notices", threads: 1)

    /// Blocks until the thread has its descriptors. To be called when the server is mounted.
    init(_ server: RequestServer) {
        self.server = server
        do throws(SystemError) {
            try server.separateNotices(on: thread)
        } catch {
            // Before Linux 5.9, or without /dev/fuse.
            Log("mount").debug("Notices share the connection of requests: \(error.sentence)")
        }
    }

    /// Any thread, never waits.
    func send(_ notice: KernelNotice) {
        thread.submit { [server] in server.send(notice) }
    }

    /// The thread lets go of the connection when it has sent what it was given before. Does not wait for that.
    func end() {
        thread.submit { [server] in server.closeConnection() }
    }
}
