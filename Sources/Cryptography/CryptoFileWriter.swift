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

    /// - Parameters:
    ///   - file: open for writing and empty.
    ///   - arguments: fresh; the same pair for two contents would give both away.
    public init(file: OpenFile, arguments: FileArguments) throws(CryptographyError) {
        self.file = file
        box = try StreamBox(key: arguments.key, nonce: arguments.nonce)
        buffer = .allocate(byteCount: 256 << 10, alignment: 4096)
    }

    deinit { buffer.deallocate() }

    /// Adds the next bytes of plaintext, any number. Blocks on the disk.
    public func append(_ bytes: UnsafeRawBufferPointer) throws(CryptographyError) {
        var start = 0
        while start < bytes.count {
            let count = min(buffer.count - filled, bytes.count - start)
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<filled + count])
            piece.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<start + count]))
            box.seal(piece)
            filled += count
            start += count
            if filled == buffer.count { try flush() }
        }
    }

    public func append(_ bytes: [UInt8]) throws(CryptographyError) {
        try bytes.withUnsafeBufferPointer { buffer throws(CryptographyError) in
            try append(UnsafeRawBufferPointer(buffer))
        }
    }

    /// Writes the tag and answers the size of the plaintext. Durability is the caller's: `synchronise`.
    @discardableResult
    public func finish() throws(CryptographyError) -> UInt64 {
        try flush()
        let tag = box.tag()
        try wrappingSystemError { () throws(SystemError) in try file.write(tag, at: written) }
        return box.position
    }

    private func flush() throws(CryptographyError) {
        guard filled > 0 else { return }
        let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<filled])
        try wrappingSystemError { () throws(SystemError) in try file.write(bytes, at: written) }
        written += UInt64(filled)
        filled = 0
    }
}
