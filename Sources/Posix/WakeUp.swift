import CLinux
import Glibc

/// Wakes a thread that waits in poll(2): an eventfd. Any thread may ring; one thread waits.
public final class WakeUp: Sendable {
    public let descriptor: Int32

    public init() throws(SystemError) {
        descriptor = try check("make an event descriptor") { chatfs_eventfd() }
    }

    deinit { close(descriptor) }

    /// Makes `descriptor` readable.
    public func ring() {
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
public func poll(_ requests: inout [pollfd], milliseconds: Int32) throws(SystemError) -> Int {
    let count = nfds_t(requests.count)
    return try requests.withUnsafeMutableBufferPointer { buffer throws(SystemError) in
        let result = Glibc.poll(buffer.baseAddress!, count, milliseconds)
        if result >= 0 { return Int(result) }
        // Interrupted: nothing is ready; the caller looks at its deadlines and comes back.
        if errno == EINTR { return 0 }
        throw SystemError(code: errno, operation: "wait for a descriptor")
    }
}
