import Glibc

/// The memory that a measured piece of work will need, at hand: on a virtual machine the host takes back what
/// is free, and fetching it again costs whoever touches it first up to a third of his time.
enum FreeMemory {
    /// What a cold read of a GiB takes three times over: the reader's pages, the stored copy, and the chunks.
    private static let maxBytes = 6 << 30

    /// Takes memory, touches it and gives it back; at most half of what is available. Blocks for about a
    /// second.
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
