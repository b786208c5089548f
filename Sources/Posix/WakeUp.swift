import Base
import CLinux
import Glibc

/// Wakes a thread that waits in poll(2): an eventfd. Any thread may notify; one thread waits.
public final class WakeUp: Sendable {
    public let descriptor: Int32

    /// - Throws: as eventfd(2).
    public init() throws(SystemError) {
        descriptor = try check("make an event descriptor") { chatfs_eventfd() }
    }

    deinit { close(descriptor) }

    /// Makes `descriptor` readable.
    public func notify() {
        var one: UInt64 = 1
        _ = withUnsafeBytes(of: &one) { Glibc.write(descriptor, $0.baseAddress!, 8) }
    }

    /// Makes it silent again.
    public func clear() {
        var count: UInt64 = 0
        _ = withUnsafeMutableBytes(of: &count) { Glibc.read(descriptor, $0.baseAddress!, 8) }
    }
}

/// Waits until one of the descriptors is ready or `milliseconds` have passed (-1: for ever).
/// `requests` come back with `revents` filled; the result is how many are ready.
///
/// Never fails, so that no thread that waits for others ends because of it: an interrupted wait goes on, and where the
/// kernel has no memory for one it is tried again a little later.
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
        // What an earlier wait answered is still there.
        for index in requests.indices { requests[index].revents = 0 }
        if code != EINTR {
            pollFailures.report(SystemError(code: code, operation: "wait for a descriptor"))
            usleep(50_000)
        }
        guard milliseconds != 0 else { return 0 }
        if let end {
            left = Int32(clamping: Int(((end - .now) / .milliseconds(1)).rounded(.up)))
            if left <= 0 { return 0 }
        }
    }
}

/// Says once that waits fail, not for each of them.
private struct PollFailures: Sendable {
    private let isReported = Lock(false)

    func report(_ error: SystemError) {
        let isFirst = isReported.withLock { isReported in
            defer { isReported = true }
            return !isReported
        }
        if isFirst { Log("posix").error("\(error.sentence) It is tried again, now and the next times.") }
    }
}

private let pollFailures = PollFailures()
