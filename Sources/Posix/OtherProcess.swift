import CLinux
import Glibc

/// A process that is not a child of this one, held by a descriptor (pidfd_open(2)): once it has ended
/// its number may be another's.
public struct OtherProcess: Sendable {
    public let process: pid_t
    private let descriptor: OpenFile

    /// - Throws: as pidfd_open(2), ESRCH when there is no such process.
    public init(_ process: pid_t) throws(SystemError) {
        self.process = process
        descriptor = OpenFile(
            adopting: try check("watch a process") { chatfs_process_descriptor(process) })
    }

    /// Whether it has ended within `limit`. Blocks.
    public func hasEnded(within limit: Duration) -> Bool {
        var requests = [pollfd(fd: descriptor.descriptor, events: Int16(POLLIN), revents: 0)]
        let bounded = min(max(limit, .zero), .milliseconds(Int64(Int32.max)))
        return poll(&requests, milliseconds: Int32((bounded / .milliseconds(1)).rounded(.up))) > 0
    }

    /// Sends it a signal, if it is still there.
    public func send(_ signal: Int32) { _ = chatfs_signal_process(descriptor.descriptor, signal) }
}
