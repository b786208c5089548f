import Base
import Posix

/// Writes a CryptoFile whose content lies between a header and padding, while the content's size is not known yet: the
/// form in which XFTP transfers a file.
///
/// Each byte is encrypted once. The first 16 bytes, in which the header has the size, come last. Never encrypts two
/// different bytes with one byte of the keystream.
///
/// Used by one task at a time. Until `finish` returns, the file has no tag and is not valid.
public final class StreamFileWriter {
    private let file: OpenFile
    private let box: StreamBox
    private let writer: CryptoFileWriter
    private let headerLength: Int
    /// The first bytes of the plaintext, held back until the size is known.
    private var start: [UInt8] = []

    /// - Parameters:
    ///   - file: An empty file, open for writing.
    ///   - arguments: A new key and nonce.
    ///   - header: The bytes before the content. All but the first 16 are final.
    /// - Throws: The errors of `CryptoFileWriter`.
    public init(
        file: OpenFile, arguments: FileArguments, header: [UInt8]
    ) throws(CryptographyError) {
        self.file = file
        headerLength = header.count
        box = try StreamBox(key: arguments.key, nonce: arguments.nonce)
        writer = try CryptoFileWriter(file: file, arguments: arguments, skipsStart: true)
        try append(header)
    }

    /// Appends content, as `CryptoFileWriter` does.
    /// - Throws: `.file`.
    public func append(_ bytes: UnsafeRawBufferPointer) throws(CryptographyError) {
        let count = min(bytes.count, StreamBox.startLength - start.count)
        start += bytes[..<count]
        try writer.append(UnsafeRawBufferPointer(rebasing: bytes[count...]))
    }

    private func append(_ bytes: [UInt8]) throws(CryptographyError) {
        try bytes.withUnsafeBufferPointer { bytes throws(CryptographyError) in
            try append(UnsafeRawBufferPointer(bytes))
        }
    }

    /// Writes the padding, the first bytes and the tag. Does not synchronize the file.
    /// - Parameters:
    ///   - header: The final header, as long as the first one.
    ///   - length: The length of header, content and padding in bytes: a multiple of 16, at least 16.
    /// - Returns: Where the content lies in the plaintext.
    /// - Throws: `.file`.
    public func finish(header: [UInt8], length: UInt64) throws(CryptographyError) -> Range<UInt64> {
        precondition(header.count == headerLength, "the header has another length")
        let end = start.count < StreamBox.startLength ? UInt64(start.count) : writer.position
        try pad(from: end, to: length)
        start.replaceSubrange(..<min(header.count, start.count), with: header.prefix(start.count))
        start.withUnsafeMutableBytes { box.transform($0, at: 0) }
        try writer.finish(start: start)
        return UInt64(headerLength)..<end
    }

    private func pad(from end: UInt64, to length: UInt64) throws(CryptographyError) {
        precondition(length >= end && length % 16 == 0, "the padding has an impossible length")
        let padding = [UInt8](repeating: UInt8(ascii: "#"), count: 64 << 10)
        var left = length - end
        while left > 0 {
            let count = Int(min(left, UInt64(padding.count)))
            try append(count == padding.count ? padding : Array(padding[..<count]))
            left -= UInt64(count)
        }
    }
}
