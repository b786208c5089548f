import Glibc
import Posix

/// A time by the boot clock, which cannot be set: seconds since boot, including sleep.
struct BootTime: Hashable, Sendable {
    /// The kernel's id of the boot (proc(5)).
    var boot: String
    var seconds: Int64

    /// Returns nil if the kernel does not report the boot's id.
    static func now() -> BootTime? {
        guard let boot = ProcessInformation.boot() else { return nil }
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return BootTime(boot: boot, seconds: Int64(time.tv_sec))
    }
}
