import Base
import Posix

/// The plaintext of a file to send. Blocking; called on a pool thread, one call at a time, in order
/// from the start (again from the start when an upload is resumed). What is thrown ends the upload with
/// `XFTPError.source` and becomes its cause.
public protocol UploadSource: Sendable {
    /// Bytes in all, fixed for the whole upload.
    var size: UInt64 { get }

    /// Fills `buffer` from `offset` on; fewer bytes than asked only at the end.
    /// - Throws: what keeps it from being read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int

    /// The same of bytes that were read before, in any order and also while `read` is called: a chunk that has to
    /// be sent once more is made once more.
    /// - Throws: as `read`.
    func readAgain(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int

    /// Everything was read. Nothing has been described to anybody at this point.
    /// - Throws: why it must not be sent after all.
    func confirm() throws
}

extension UploadSource {
    /// For sources whose bytes are what they are.
    public func confirm() throws {}

    /// For sources that keep nothing between two reads.
    public func readAgain(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        try read(into: buffer, at: offset)
    }
}

/// A plain file on disk.
public struct PlainFileSource: UploadSource {
    private let file: OpenFile
    public let size: UInt64

    /// - Throws: as fstat(2).
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
