import Base
import Posix

/// Writes a CryptoFile front to back: ciphertext as long as the plaintext, then the 16-byte tag
/// (simplex-chat `CryptoFile`). Memory stays at 256 KiB whatever the size.
///
/// Used by one task at a time. Until `finish` has returned the file has no tag and is not valid.
public final class CryptoFileWriter {
    private let file: OpenFile
    private var box: StreamBox
    private let buffer: UnsafeMutableRawBufferPointer
    private var filled = 0
    private var written: UInt64 = 0
    /// Bytes of plaintext that were appended.
    public var position: UInt64 { box.position }

    /// - Parameters:
    ///   - file: open for writing and empty.
    ///   - arguments: fresh; the same pair for two contents would give both away.
    public init(file: OpenFile, arguments: FileArguments) throws(CryptographyError) {
        self.file = file
        box = try StreamBox(key: arguments.key, nonce: arguments.nonce)
        buffer = .allocate(byteCount: 256 << 10, alignment: 4096)
    }

    deinit { buffer.deallocate() }

    /// Adds the next bytes of plaintext, any number. Up to 256 KiB at once are taken whole or, when the disk
    /// fails, not at all: then they may be given again. Blocks on the disk.
    public func append(_ bytes: UnsafeRawBufferPointer) throws(CryptographyError) {
        var start = 0
        while start < bytes.count {
            let count = min(buffer.count, bytes.count - start)
            if filled + count > buffer.count { try flush() }
            box.seal(
                UnsafeRawBufferPointer(rebasing: bytes[start..<start + count]),
                into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<filled + count]))
            filled += count
            start += count
        }
    }

    public func append(_ bytes: [UInt8]) throws(CryptographyError) {
        try bytes.withUnsafeBufferPointer { buffer throws(CryptographyError) in
            try append(UnsafeRawBufferPointer(buffer))
        }
    }

    /// Brings what was appended to the file, so that `UnfinishedCryptoFile` gives it back. What a failing disk
    /// did not take is written by the next call.
    public func flush() throws(CryptographyError) {
        guard filled > 0 else { return }
        let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<filled])
        try wrappingSystemError { () throws(SystemError) in try file.write(bytes, at: written) }
        written += UInt64(filled)
        filled = 0
    }

    /// Writes the tag and answers the size of the plaintext. Durability is the caller's: `synchronise`.
    @discardableResult
    public func finish() throws(CryptographyError) -> UInt64 {
        try flush()
        let tag = box.tag()
        try wrappingSystemError { () throws(SystemError) in try file.write(tag, at: written) }
        return box.position
    }
}
