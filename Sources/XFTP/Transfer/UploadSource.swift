import Base
import Posix

/// The plaintext of a file to send. Methods block; `read` runs on a pool thread, one call at a time, in order from the
/// start. A resumed upload starts again. An error ends the upload as the cause of `XFTPError.source`.
public protocol UploadSource: Sendable {
    /// The size in bytes, fixed for the whole upload.
    var size: UInt64 { get }

    /// Fills `buffer` from `offset` on. Returns fewer bytes only at the end.
    /// - Throws: Any read error.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int

    /// Reads bytes again, in any order and concurrently with `read`, to produce a chunk again.
    /// - Throws: The errors of `read`.
    func readAgain(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int

    /// Called after everything was read and before any description exists.
    /// - Throws: An error if the file must not be sent.
    func confirm() throws
}

extension UploadSource {
    /// Accepts the file.
    public func confirm() throws {}

    /// Calls `read`.
    public func readAgain(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        try read(into: buffer, at: offset)
    }
}

/// A plain file on disk.
public struct PlainFileSource: UploadSource {
    private let file: OpenFile
    public let size: UInt64

    /// - Throws: The errors of fstat(2).
    public init(_ file: OpenFile) throws(SystemError) {
        self.file = file
        size = try file.size()
    }

    public func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(SystemError) -> Int {
        try file.read(into: buffer, at: offset)
    }
}

/// Bytes in memory: the description behind a redirect.
struct BytesSource: UploadSource {
    let bytes: [UInt8]

    var size: UInt64 { UInt64(bytes.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int {
        let start = Int(min(offset, size))
        let count = min(buffer.count, bytes.count - start)
        buffer.copyBytes(from: bytes[start..<start + count])
        return count
    }
}
