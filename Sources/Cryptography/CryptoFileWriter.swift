import Base
import Posix

/// Writes a CryptoFile front to back: ciphertext as long as the plaintext, then the 16-byte tag (simplex-chat
/// `CryptoFile`). Uses 512 KiB of memory for any size.
///
/// Writes begin and end at multiples of 256 KiB of the file, except after `flush`. The kernel then uses large pages and
/// writes each of them once.
///
/// Used by one task at a time. Until `finish` returns, the file has no tag and is not valid.
public final class CryptoFileWriter {
    private let file: OpenFile
    private var box: StreamBox
    /// Twice the size of one write.
    private let buffer: UnsafeMutableRawBufferPointer
    private static let portion = 256 << 10
    private var filled = 0
    private var written: UInt64 = 0
    /// The number of appended plaintext bytes.
    public var position: UInt64 { box.position }

    /// - Parameters:
    ///   - file: An empty file, open for writing.
    ///   - arguments: A new key and nonce. Reusing them for other contents would reveal both.
    /// - Throws: `.invalidKey` for arguments of wrong lengths.
    public init(file: OpenFile, arguments: FileArguments) throws(CryptographyError) {
        self.file = file
        box = try StreamBox(key: arguments.key, nonce: arguments.nonce)
        buffer = .allocate(byteCount: 2 * Self.portion, alignment: 4096)
    }

    /// Writes zeros in place of the first 16 bytes, which `finish(start:)` replaces.
    convenience init(file: OpenFile, arguments: FileArguments, skipsStart: Bool) throws(CryptographyError) {
        try self.init(file: file, arguments: arguments)
        guard skipsStart else { return }
        box.skipStart()
        filled = StreamBox.startLength
        buffer[..<filled].initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit { buffer.deallocate() }

    /// Appends plaintext. Up to 256 KiB are accepted completely or, if the disk fails, not at all, so the caller can
    /// retry. Blocks on the disk.
    /// - Throws: `.file`.
    public func append(_ bytes: UnsafeRawBufferPointer) throws(CryptographyError) {
        var start = 0
        while start < bytes.count {
            let count = min(Self.portion, bytes.count - start)
            try writePortions()
            let place = UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<filled + count])
            box.seal(UnsafeRawBufferPointer(rebasing: bytes[start..<start + count]), into: place)
            filled += count
            start += count
        }
    }

    /// - Throws: `.file`.
    public func append(_ bytes: [UInt8]) throws(CryptographyError) {
        try bytes.withUnsafeBufferPointer { buffer throws(CryptographyError) in
            try append(UnsafeRawBufferPointer(buffer))
        }
    }

    /// Writes the buffer up to the last multiple of `portion` and keeps the rest.
    private func writePortions() throws(CryptographyError) {
        let portion = UInt64(Self.portion)
        let end = (written + UInt64(filled)) / portion * portion
        guard end > written else { return }
        let count = Int(end - written)
        try write(count)
        let rest = UnsafeRawBufferPointer(rebasing: buffer[count..<count + filled])
        buffer.copyMemory(from: rest)
    }

    private func write(_ count: Int) throws(CryptographyError) {
        let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
        try wrappingSystemError { () throws(SystemError) in try file.write(bytes, at: written) }
        written += UInt64(count)
        filled -= count
    }

    /// Writes all appended bytes to the file. After a disk error, the next call retries.
    /// - Throws: `.file`.
    public func flush() throws(CryptographyError) {
        guard filled > 0 else { return }
        try writePortions()
        if filled > 0 { try write(filled) }
    }

    /// Writes the tag and returns the plaintext size in bytes. Can be repeated. Does not synchronize the file.
    /// - Throws: `.file`.
    @discardableResult
    public func finish() throws(CryptographyError) -> UInt64 {
        try flush()
        let tag = box.tag()
        try wrappingSystemError { () throws(SystemError) in try file.write(tag, at: written) }
        return box.position
    }

    /// Writes the first 16 bytes of the ciphertext and the tag. The number of bytes must be a multiple of 16.
    /// - Throws: `.file`.
    func finish(start: [UInt8]) throws(CryptographyError) {
        try flush()
        let tag = box.tag(start: start)
        try wrappingSystemError { () throws(SystemError) in
            try file.write(tag, at: written)
            try file.write(start, at: 0)
        }
    }
}
