import Base
import FileSystem

/// Memory for answers with data, used again: a fresh buffer per read is a system call and a page
/// fault per page.
final class ReplyBuffers: Sendable {
    private let idle = Lock<[ReadBuffer]>([])
    /// As much as the kernel asks for at once (`max_pages` 256).
    private static let size = 1 << 20
    /// Kept for the next answers: more than there are threads that are busy with one.
    private static let maxIdle = 16

    /// Lends a buffer of at least `count` bytes until `give`. One that was never filled takes no memory: who
    /// waits for bytes may hold it.
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
