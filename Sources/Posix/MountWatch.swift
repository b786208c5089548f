import Glibc
import Synchronization

/// Reports once when a mount has left this process's mount table. A thread waits for changes with poll(2) on
/// /proc/self/mountinfo (proc(5)).
public final class MountWatch: Sendable {
    private let mount: MountTable.Mount
    private let gone: @Sendable () -> Void
    private let table: OpenFile
    private let wakeUp: WakeUp
    private let isStopped = Atomic(false)

    /// - Parameter gone: Called on the watch's thread.
    /// - Throws: If the table cannot be opened, or descriptors or threads are missing.
    public init(_ mount: MountTable.Mount, gone: @escaping @Sendable () -> Void) throws(SystemError) {
        self.mount = mount
        self.gone = gone
        // Changes since the open count, so none is missed between the first read and the first wait.
        table = try OpenFile("/proc/self/mountinfo", flags: O_RDONLY)
        wakeUp = try WakeUp()
        try Thread.begin("mount-watch") { self.watch() }
    }

    /// Ends the thread. No report starts afterwards.
    public func stop() {
        isStopped.store(true, ordering: .releasing)
        wakeUp.notify()
    }

    private func watch() {
        var requests = [
            pollfd(fd: table.descriptor, events: Int16(POLLPRI), revents: 0),
            pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while !isStopped.load(ordering: .acquiring) {
            // If the table is temporarily unreadable (ENFILE), the next change gives another chance.
            if let exists = try? mount.exists(), !exists { return gone() }
            poll(&requests, milliseconds: -1)
        }
    }
}
