import Base
import Cryptography
import Posix

/// A file on disk that is encrypted as relays get it: header, content, padding and tag, under its own key and nonce.
/// Uploading it again sends the same bytes again.
public struct StoredStream: Sendable {
    let file: OpenFile
    let arguments: FileArguments
    /// Where the content lies in the plaintext.
    let content: Range<UInt64>
    let sizes: [UInt32]

    /// Returns the length of a stream with its tag, in bytes.
    /// - Parameter headerLength: The bytes before the content.
    public static func length(headerLength: Int, contentSize: UInt64) -> UInt64 {
        sizes(upTo: UInt64(headerLength) + contentSize).reduce(0) { $0 + UInt64($1) }
    }

    /// - Parameter arguments: The key, with the place of the content.
    /// - Throws: `.source` if the file has not the length of its chunks, or cannot be examined.
    public init(file: OpenFile, arguments: FileArguments) throws(XFTPError) {
        let length: UInt64
        do {
            length = try file.size()
        } catch {
            throw XFTPError(.source, "The file could not be read: \(error.sentence)", cause: error)
        }
        guard let content = arguments.content, content.lowerBound >= Self.lengthField,
            content.upperBound <= ChunkPlan.maxFileSize + Self.lengthField
        else { throw Self.wrongLength }
        sizes = Self.sizes(upTo: content.upperBound)
        guard length == sizes.reduce(0, { $0 + UInt64($1) }) else { throw Self.wrongLength }
        (self.file, self.arguments, self.content) = (file, arguments, content)
    }

    /// The length of the header's first field.
    private static let lengthField: UInt64 = 8

    private static func sizes(upTo end: UInt64) -> [UInt32] { ChunkPlan.sizes(for: end - lengthField) }

    private static var wrongLength: XFTPError {
        let cause = CryptographyError(.notAuthentic, "The encrypted file has a wrong length.")
        return XFTPError(.source, "The file could not be read: \(cause.sentence)", cause: cause)
    }
}

/// Reads the chunks of a `StoredStream` in order and compares its tag with the last one. `produce` runs on one thread at
/// a time. `produceAgain` may run meanwhile on any thread.
final class StreamChunks: ChunkProduction, @unchecked Sendable {
    // Safe: `FileUpload` produces one chunk after the other, and only `produce` changes state.
    private let stream: StoredStream
    private var box: StreamBox
    var sizes: [UInt32] { stream.sizes }

    init(_ stream: StoredStream) throws(XFTPError) {
        self.stream = stream
        do {
            box = try StreamBox(key: stream.arguments.key, nonce: stream.arguments.nonce)
        } catch {
            throw XFTPError(.source, "The file to send has an invalid key.", cause: error)
        }
    }

    func produce(_ index: Int, into buffer: ChunkBuffer) throws(XFTPError) {
        let isLast = index == sizes.count - 1
        try fill(buffer, with: index) { bytes in
            let isEnd = isLast && bytes.endIndex == buffer.count
            box.authenticate(
                UnsafeRawBufferPointer(rebasing: isEnd ? bytes.dropLast(StreamBox.tagLength) : bytes))
        }
        guard isLast else { return }
        guard box.isAuthentic(Array(buffer.bytes.suffix(StreamBox.tagLength))) else {
            let cause = CryptographyError(
                .notAuthentic, "The encrypted file was changed or cut off: its tag is wrong.")
            throw XFTPError(.source, "The file could not be read: \(cause.sentence)", cause: cause)
        }
    }

    func produceAgain(_ index: Int, into buffer: ChunkBuffer) throws(XFTPError) {
        try fill(buffer, with: index) { _ in }
    }

    /// Calls `body` with pieces that are still in the processor's cache.
    private func fill(
        _ buffer: ChunkBuffer, with index: Int, _ body: (Slice<UnsafeRawBufferPointer>) -> Void
    ) throws(XFTPError) {
        buffer.count = Int(sizes[index])
        let start = sizes[..<index].reduce(0) { $0 + UInt64($1) }
        var filled = 0
        while filled < buffer.count {
            let end = min(filled + (256 << 10), buffer.count)
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[filled..<end])
            try read(into: piece, at: start + UInt64(filled))
            body(UnsafeRawBufferPointer(buffer.bytes)[filled..<end])
            filled = end
        }
    }

    private func read(into piece: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(XFTPError) {
        let count: Int
        do {
            count = try stream.file.read(into: piece, at: offset)
        } catch {
            throw XFTPError(.source, "The file could not be read: \(error.sentence)", cause: error)
        }
        guard count == piece.count else {
            throw XFTPError(.source, "The file was truncated while it was being sent.")
        }
    }
}
