import Base
import Posix

/// A stream on disk in clear. The file starts with the first byte of the content, so the kernel can read a
/// finished file directly. Bytes before the content are kept in memory.
///
/// The content's offset is an estimate from the file name in the message until the first chunk arrives. With
/// a wrong estimate reads still work, but the file on disk is not the content.
final class PlainStream: Sendable {
    private let file: OpenFile
    /// Stream position of the file's first byte.
    private let start: UInt64
    /// Bytes before `start`.
    private let head: Lock<[UInt8]>

    init(file: OpenFile, contentOffset: UInt64) {
        self.file = file
        start = contentOffset
        head = Lock([UInt8](repeating: 0, count: Int(contentOffset)))
    }

    /// Writes at a position of the stream. Blocks.
    func write(_ bytes: UnsafeRawBufferPointer, at position: UInt64) throws(SystemError) {
        let count = inHead(bytes.count, at: position)
        if count > 0 {
            head.withLock { head in
                head.replaceSubrange(Int(position)..<Int(position) + count, with: bytes.prefix(count))
            }
        }
        guard count < bytes.count else { return }
        try file.write(
            UnsafeRawBufferPointer(rebasing: bytes[count...]), at: position + UInt64(count) - start)
    }

    /// Fills the buffer from a position of the stream. Returns false at the end of the data. Blocks.
    func read(
        into buffer: UnsafeMutableRawBufferPointer, at position: UInt64
    ) throws(SystemError) -> Bool {
        let count = inHead(buffer.count, at: position)
        if count > 0 {
            head.withLock { head in buffer.copyBytes(from: head[Int(position)...].prefix(count)) }
        }
        guard count < buffer.count else { return true }
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
        return try file.read(into: rest, at: position + UInt64(count) - start) == rest.count
    }

    /// Frees the disk space of a range of the stream.
    func discard(_ range: Range<UInt64>) throws(SystemError) {
        let onDisk = range.clamped(to: start..<UInt64.max)
        guard !onDisk.isEmpty else { return }
        try file.punchHole(onDisk.lowerBound - start..<onDisk.upperBound - start)
    }

    /// Returns the file cut to the content if the estimated offset was right; nil otherwise. Bytes behind the
    /// content are lost.
    func content(at offset: UInt64, size: UInt64) throws(SystemError) -> OpenFile? {
        guard offset == start else { return nil }
        try file.truncate(to: size)
        return file
    }

    /// Returns the number of bytes, at most `count`, before the file's first byte.
    private func inHead(_ count: Int, at position: UInt64) -> Int {
        position < start ? Int(min(UInt64(count), start - position)) : 0
    }
}
