import Base
import Glibc
import Posix

/// Reusable memory for one chunk. One owner at a time: tasks and threads pass a buffer on and never share it.
public final class ChunkBuffer: @unchecked Sendable {
    // Safe: the memory has one owner at a time; base and capacity never change.
    private let memory: UnsafeMutableRawBufferPointer
    private var isPopulated = false
    /// Counted in `Self.unfilled`.
    private var isUnfilled = false
    /// The number of filled bytes.
    public var count = 0 { didSet { if isUnfilled, count > 0 { endUnfilled() } } }

    /// - Parameter capacity: The capacity in bytes, usually the size of a chunk; at most 4 MiB for official files.
    public init(capacity: Int) {
        // Map pages directly: malloc would cache such buffers for each thread that ever freed one (50 MiB after a
        // download). Unused pages take no memory, and unmapping releases the content.
        memory = Self.map(max(capacity, 1))
    }

    deinit {
        if isUnfilled { endUnfilled() }
        munmap(memory.baseAddress, memory.count)
    }

    private static let hugePage = 2 << 20

    /// Aligns to huge pages, of which two hold a chunk. Otherwise the first fill of a buffer causes a thousand page
    /// faults, which cost more than the encryption.
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

    /// Maps the pages of the first `count` bytes on a pool thread, while the owner waits for a relay. The kernel clears
    /// each page, which takes milliseconds where the machine's memory is virtual. Only the first call has an effect, and
    /// none while all of `unfilled` wait for relays, which may be silent.
    func populate(_ count: Int) {
        guard !isPopulated, count >= Self.hugePage, Self.unfilled.take() else { return }
        (isPopulated, isUnfilled) = (true, true)
        // Linux 5.14; an older kernel refuses it.
        ThreadPool.shared.submit { [self] in _ = madvise(memory.baseAddress, count, Self.populateWrite) }
    }

    /// MADV_POPULATE_WRITE.
    private static let populateWrite: Int32 = 23

    /// The number of populated buffers without any bytes, of this process.
    private static let unfilled = Budget(limit: 5)

    private func endUnfilled() {
        isUnfilled = false
        Self.unfilled.giveBack()
    }

    public var capacity: Int { memory.count }
    /// The filled bytes, valid for the life of the buffer.
    public var bytes: UnsafeMutableRawBufferPointer { .init(rebasing: memory[..<count]) }
    /// Copies the content of a buffer that is no larger. Takes about 1 ms per 4 MiB, so run it on a pool thread.
    func copy(_ other: ChunkBuffer) {
        memory.copyMemory(from: UnsafeRawBufferPointer(other.bytes))
        count = other.count
    }
    /// The whole memory, filled or not.
    var storage: UnsafeMutableRawBufferPointer { memory }
}

/// A limited number of chunk buffers, allocated on first use. Tasks wait for a free one.
public final class ChunkBufferPool: Sendable {
    private let permits: AsyncSemaphore
    private let free = Lock<[ChunkBuffer]>([])
    private let capacity: Int

    public init(count: Int, capacity: Int) {
        permits = AsyncSemaphore(count)
        self.capacity = capacity
    }

    /// Waits for a free buffer.
    /// - Throws: `.cancelled`.
    public func take() async throws(XFTPError) -> ChunkBuffer {
        guard await permits.acquire() else { throw .cancelled }
        return free.withLock { $0.popLast() } ?? ChunkBuffer(capacity: capacity)
    }

    /// Raises the limit by `count` buffers.
    func grow(by count: Int) { for _ in 0..<count { permits.release() } }

    public func give(_ buffer: ChunkBuffer) {
        buffer.count = 0
        free.withLock { $0.append(buffer) }
        permits.release()
    }
}
