import Base
import Glibc

/// Tells once when a mount has left the mount table of this process. A thread waits for changes of the table
/// (poll(2) of /proc/self/mountinfo, proc(5)); nobody asks in between.
public final class MountWatch: Sendable {
    private let mount: MountTable.Mount
    private let gone: @Sendable () -> Void
    private let table: OpenFile
    private let wakeUp: WakeUp
    private let isStopped = Lock(false)

    /// - Parameter gone: called on the watch's thread.
    /// - Throws: where the table cannot be opened, or there is no descriptor or thread for it.
    public init(_ mount: MountTable.Mount, gone: @escaping @Sendable () -> Void) throws(SystemError) {
        self.mount = mount
        self.gone = gone
        // Changes since it was opened are told, so nothing is missed between the first look and the first wait.
        table = try OpenFile("/proc/self/mountinfo", flags: O_RDONLY)
        wakeUp = try WakeUp()
        try Thread.begin("mount-watch") { self.watch() }
    }

    /// Ends the thread. Nothing is told from then on, unless it is being told now.
    public func stop() {
        isStopped.withLock { $0 = true }
        wakeUp.notify()
    }

    private func watch() {
        var requests = [
            pollfd(fd: table.descriptor, events: Int16(POLLPRI), revents: 0),
            pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while !isStopped.withLock({ $0 }) {
            // A table that cannot be read for a moment (ENFILE) says nothing; its next change is another chance.
            if let exists = try? mount.exists(), !exists { return gone() }
            poll(&requests, milliseconds: -1)
        }
    }
}
