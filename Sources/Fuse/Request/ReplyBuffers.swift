import Base
import FileSystem

/// A pool of reply buffers. A new buffer per read would cost a system call and a page fault per page.
final class ReplyBuffers: Sendable {
    private let idle = Lock<[ReadBuffer]>([])
    /// Size in bytes of the kernel's largest read (`max_pages` 256).
    private static let size = 1 << 20
    /// Maximum number of idle buffers, above the number of busy threads.
    private static let maxIdle = 16

    /// Lends a buffer of at least `count` bytes until `give`. An unfilled buffer occupies no memory, so a waiting read
    /// may hold one.
    func take(_ count: Int) -> ReadBuffer {
        let found = count <= Self.size ? idle.withLock { $0.popLast() } : nil
        return found ?? ReadBuffer(.allocate(byteCount: max(count, Self.size), alignment: 4096))
    }

    func give(_ buffer: ReadBuffer) {
        let isKept = idle.withLock { idle in
            guard buffer.bytes.count == Self.size, idle.count < Self.maxIdle else { return false }
            idle.append(buffer)
            return true
        }
        if !isKept { buffer.bytes.deallocate() }
    }
}
