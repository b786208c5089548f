import CLinux
import Glibc

/// A process other than a child, held by a descriptor (pidfd_open(2)), because its number may be reused after its end.
public struct OtherProcess: Sendable {
    public let process: pid_t
    private let descriptor: OpenFile

    /// - Throws: As pidfd_open(2), ESRCH for a missing process.
    public init(_ process: pid_t) throws(SystemError) {
        self.process = process
        descriptor = OpenFile(
            adopting: try check("watch a process") { chatfs_process_descriptor(process) })
    }

    /// Returns whether it ended within `limit`. Blocks.
    public func hasEnded(within limit: Duration) -> Bool {
        var requests = [pollfd(fd: descriptor.descriptor, events: Int16(POLLIN), revents: 0)]
        let bounded = min(max(limit, .zero), .milliseconds(Int64(Int32.max)))
        return poll(&requests, milliseconds: Int32((bounded / .milliseconds(1)).rounded(.up))) > 0
    }

    /// Sends a signal, if the process still exists.
    public func send(_ signal: Int32) { _ = chatfs_signal_process(descriptor.descriptor, signal) }
}
