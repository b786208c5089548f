import Base
import Glibc

/// CLOCK_BOOTTIME with the kernel's boot id. If the id is unreadable, each process counts as a boot.
public struct SystemBootClock: BootClock {
    private static let boot =
        ProcessInformation.boot() ?? Hexadecimal.encode(SystemRandomSource().bytes(16))

    public init() {}

    public func reading() -> BootReading {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return BootReading(
            boot: Self.boot, nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
