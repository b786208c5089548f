import Base

/// Memory for answers with data, used again: a fresh buffer per read is a system call and a page
/// fault per page.
final class ReplyBuffers: @unchecked Sendable {
    // Safe: a buffer is either in `idle`, behind its lock, or lent to one caller.
    private let idle = Lock<[UnsafeMutableRawBufferPointer]>([])
    /// As much as the kernel asks for at once (`max_pages` 256).
    private static let size = 1 << 20

    /// Lends a buffer of `count` bytes to `body`.
    func with<Result>(_ count: Int, _ body: (UnsafeMutableRawBufferPointer) -> Result) -> Result {
        guard count <= Self.size else {
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 4096)
            defer { buffer.deallocate() }
            return body(buffer)
        }
        let buffer =
            idle.withLock { $0.popLast() }
            ?? UnsafeMutableRawBufferPointer.allocate(byteCount: Self.size, alignment: 4096)
        defer { idle.withLock { $0.append(buffer) } }
        return body(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
    }
}
