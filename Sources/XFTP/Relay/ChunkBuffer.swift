import Base
import Glibc

/// Memory for one chunk, used again and again. Whoever holds it owns it alone: a buffer is handed
/// from task to thread and back, never used by two at once.
public final class ChunkBuffer: @unchecked Sendable {
    // Safe: the memory has one owner at a time, see above; base and capacity never change.
    private let memory: UnsafeMutableRawBufferPointer
    /// Bytes that are filled.
    public var count = 0

    /// - Parameter capacity: bytes, usually `FileDescription.largestChunk`, 4 MiB at most for files
    ///   of the official programs.
    public init(capacity: Int) {
        // Pages of their own: the allocator would keep buffers of this size for each thread that ever freed
        // one (measured: 50 MiB after a download). Untouched pages take no memory, and what a buffer held goes
        // with its pages.
        memory = Self.map(max(capacity, 1))
    }

    deinit { munmap(memory.baseAddress, memory.count) }

    private static let hugePage = 2 << 20

    /// Where the system has huge pages, two of them are a chunk: touched page by page, the first filling of
    /// a buffer would cost a thousand faults, more than the encryption of what fills it.
    private static func map(_ size: Int) -> UnsafeMutableRawBufferPointer {
        let slack = size >= hugePage ? hugePage : 0
        let pages = mmap(nil, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let pages, pages != MAP_FAILED else { fatalError("out of memory for a chunk of \(size) bytes") }
        guard slack > 0 else { return UnsafeMutableRawBufferPointer(start: pages, count: size) }
        let before = -Int(bitPattern: pages) & (hugePage - 1)
        let start = pages + before
        if before > 0 { munmap(pages, before) }
        let end = (size + Int(getpagesize()) - 1) & -Int(getpagesize())
        if slack > before { munmap(start + end, slack - before) }
        _ = madvise(start, size, MADV_HUGEPAGE)
        return UnsafeMutableRawBufferPointer(start: start, count: size)
    }

    public var capacity: Int { memory.count }
    /// The filled bytes. Valid as long as the buffer is.
    public var bytes: UnsafeMutableRawBufferPointer { .init(rebasing: memory[..<count]) }
    /// Takes over what another one, no larger than this, holds. About 1 ms per 4 MiB: for a pool thread.
    func copy(_ other: ChunkBuffer) {
        memory.copyMemory(from: UnsafeRawBufferPointer(other.bytes))
        count = other.count
    }
    /// All memory, filled or not.
    var storage: UnsafeMutableRawBufferPointer { memory }
}

/// A number of chunk buffers that tasks wait for. They are made when first needed.
public final class ChunkBufferPool: Sendable {
    private let permits: AsyncSemaphore
    private let free = Lock<[ChunkBuffer]>([])
    private let capacity: Int

    public init(count: Int, capacity: Int) {
        permits = AsyncSemaphore(count)
        self.capacity = capacity
    }

    /// Waits for a buffer.
    /// - Throws: `.cancelled`.
    public func take() async throws(XFTPError) -> ChunkBuffer {
        guard await permits.acquire() else { throw .cancelled }
        return free.withLock { $0.popLast() } ?? ChunkBuffer(capacity: capacity)
    }

    /// So many buffers more.
    func grow(by count: Int) { for _ in 0..<count { permits.release() } }

    public func give(_ buffer: ChunkBuffer) {
        buffer.count = 0
        free.withLock { $0.append(buffer) }
        permits.release()
    }
}
