import Base
import CLinux
import Glibc

/// Calls back at a time of day, also if the machine slept past it, and at once when the clock is set
/// (timerfd_create(2)). One thread sleeps until then.
public final class WallTimer: Sendable {
    private let timer: OpenFile
    private let end: WakeUp

    /// - Parameter reached: Called on the timer's thread, so it must not block.
    /// - Throws: If descriptors or threads are missing.
    public init(reached: @escaping @Sendable () -> Void) throws(SystemError) {
        let timer = OpenFile(adopting: try check("make a timer") { chatfs_wall_timer() })
        let end = try WakeUp()
        (self.timer, self.end) = (timer, end)
        try Thread.begin("wall-timer") {
            while true {
                var requests = [
                    pollfd(fd: timer.descriptor, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: end.descriptor, events: Int16(POLLIN), revents: 0),
                ]
                poll(&requests, milliseconds: -1)
                if requests[1].revents != 0 { return }
                var count: UInt64 = 0
                let size = withUnsafeMutableBytes(of: &count) {
                    Glibc.read(timer.descriptor, $0.baseAddress, 8)
                }
                // ECANCELED: the clock was set.
                if size == 8 || errno == ECANCELED { reached() }
            }
        }
    }

    deinit { end.notify() }

    /// Replaces the next time; nil for none. A past time calls back at once.
    public func set(_ time: Timestamp?) {
        let nanoseconds = time.map { max($0.nanoseconds, 1) } ?? 0
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        _ = chatfs_set_wall_timer(timer.descriptor, seconds, rest)
    }

    /// Ends the timer.
    public func stop() { end.notify() }
}
