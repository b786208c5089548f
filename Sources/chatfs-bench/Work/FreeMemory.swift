import Glibc

/// Prepares memory for the next measurement: the host of a virtual machine reclaims free memory, and fetching it again
/// costs up to a third of the first user's time.
enum FreeMemory {
    /// A cold read of a GiB needs it three times: the reader's pages, the stored copy, and the chunks.
    private static let maxBytes = 6 << 30

    /// Allocates memory, touches it and frees it; at most half of the available memory. Blocks for about a second.
    static func fetch() {
        let available = sysconf(Int32(_SC_AVPHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))
        let count = min(maxBytes, available / 2)
        guard count > 0 else { return }
        let pages = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let pages, pages != MAP_FAILED else { return }
        for offset in stride(from: 0, to: count, by: 4096) {
            pages.storeBytes(of: 1, toByteOffset: offset, as: UInt8.self)
        }
        munmap(pages, count)
    }
}
