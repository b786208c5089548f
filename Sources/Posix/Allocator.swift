import CLinux
import Glibc

/// The C library's allocator in this process.
public enum Allocator {
    /// Limits the allocator to an arena per processor. By default a mount's threads make eight per processor, and each
    /// keeps free memory that malloc_trim(3) cannot return. Call before the first thread.
    public static func limitArenas() {
        chatfs_limit_arenas(Int32(clamping: max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
    }
}
