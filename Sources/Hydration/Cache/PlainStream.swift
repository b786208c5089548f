import Base
import Posix

/// The stream of a file on the disk as it is, laid so that the content begins with the first byte on the disk: a
/// finished file is then one that the kernel can read itself. What is in front of the content is in memory.
///
/// Where the content begins is only certain with the first chunk; until then it is taken to be where the
/// file's name in the message says. When that was wrong, everything is in its place all the same, but the file
/// on the disk is not the content.
final class PlainStream: Sendable {
    private let file: OpenFile
    /// The position in the stream of the first byte on the disk.
    private let start: UInt64
    /// What is in front of it.
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

    /// Fills the buffer from a position of the stream on; false when less is there. Blocks.
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

    /// Gives the disk space of a range of the stream back.
    func discard(_ range: Range<UInt64>) throws(SystemError) {
        let onDisk = range.clamped(to: start..<UInt64.max)
        guard !onDisk.isEmpty else { return }
        try file.punchHole(onDisk.lowerBound - start..<onDisk.upperBound - start)
    }

    /// The file with nothing but the content, when that begins where it was expected; what comes after it in
    /// the stream cannot be read any more then.
    func content(at offset: UInt64, size: UInt64) throws(SystemError) -> OpenFile? {
        guard offset == start else { return nil }
        try file.truncate(to: size)
        return file
    }

    /// How many of so many bytes lie in front of the first byte on the disk.
    private func inHead(_ count: Int, at position: UInt64) -> Int {
        position < start ? Int(min(UInt64(count), start - position)) : 0
    }
}
