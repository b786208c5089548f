import CLinux
import Glibc
import Synchronization

/// Wakes a thread that waits in poll(2): an eventfd. Any thread may notify; of several waiting threads one wakes for certain.
public final class WakeUp: Sendable {
    public let descriptor: Int32

    /// - Throws: As eventfd(2).
    public init() throws(SystemError) {
        descriptor = try check("make an event descriptor") { chatfs_eventfd() }
    }

    deinit { close(descriptor) }

    /// Makes `descriptor` readable.
    public func notify() {
        var one: UInt64 = 1
        _ = withUnsafeBytes(of: &one) { Glibc.write(descriptor, $0.baseAddress!, 8) }
    }

    /// Makes it unreadable again.
    public func clear() {
        var count: UInt64 = 0
        _ = withUnsafeMutableBytes(of: &count) { Glibc.read(descriptor, $0.baseAddress!, 8) }
    }
}

/// Waits until a descriptor is ready or `milliseconds` have passed (-1: no limit). Fills `revents` of `requests` and
/// returns the number of ready ones.
///
/// Never fails, because its threads are essential: an interrupted wait continues, and one without kernel memory is
/// retried a little later.
@discardableResult
public func poll(_ requests: inout [pollfd], milliseconds: Int32) -> Int {
    let end = milliseconds > 0 ? ContinuousClock.now + .milliseconds(Int(milliseconds)) : nil
    var left = milliseconds
    while true {
        let result = requests.withUnsafeMutableBufferPointer { buffer in
            Glibc.poll(buffer.baseAddress, nfds_t(buffer.count), left)
        }
        if result >= 0 { return Int(result) }
        let code = errno
        // Results of an earlier wait are still there.
        for index in requests.indices { requests[index].revents = 0 }
        if code != EINTR {
            PollFailures.report(SystemError(code: code, operation: "wait for a descriptor"))
            usleep(50_000)
        }
        guard milliseconds != 0 else { return 0 }
        if let end {
            left = Int32(clamping: Int(((end - .now) / .milliseconds(1)).rounded(.up)))
            if left <= 0 { return 0 }
        }
    }
}

/// Logs failing waits once.
private enum PollFailures {
    private static let isReported = Atomic(false)

    static func report(_ error: SystemError) {
        guard !isReported.exchange(true, ordering: .relaxed) else { return }
        Log("posix").error("\(error.sentence) Retrying silently from now on.")
    }
}
