import Glibc
import Posix

/// A moment by a clock that nobody sets: seconds since the machine was started, those in which it slept among them.
struct BootMoment: Hashable, Sendable {
    /// The kernel's id of this boot (proc(5)).
    var boot: String
    var seconds: Int64

    /// Nil where the kernel does not say which boot it is.
    static func now() -> BootMoment? {
        guard let boot = ProcessInformation.boot() else { return nil }
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return BootMoment(boot: boot, seconds: Int64(time.tv_sec))
    }
}
