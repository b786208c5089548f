import Base
import CLinux
import Glibc

/// Tells when a time of day has come: also after the machine slept over it, and at once when somebody sets the clock,
/// whatever it says then (timerfd_create(2)). One thread, which sleeps until then.
public final class WallTimer: Sendable {
    private let timer: OpenFile
    private let end: WakeUp

    /// - Parameter reached: called on the timer's thread, so it must not wait.
    /// - Throws: where there is no descriptor or thread for it.
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

    /// The next time to tell, in place of any other; nil: none. One that has been is told at once.
    public func set(_ time: Timestamp?) {
        let nanoseconds = time.map { max($0.nanoseconds, 1) } ?? 0
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        _ = chatfs_set_wall_timer(timer.descriptor, seconds, rest)
    }

    /// Tells nothing from now on.
    public func stop() { end.notify() }
}
