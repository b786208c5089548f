import Base
import Cryptography

/// Verifies a whole file from its chunks in order: the Poly1305 tag at the end, the length, and the SHA-512. Proves that
/// the chunks are one file that the holder of its key encrypted.
public struct WholeFileCheck: Sendable {
    private let size: UInt64
    private var digest = SHA512()
    private let expectedDigest: [UInt8]
    private var box: StreamBox
    private var tag: [UInt8] = []
    /// The number of processed bytes.
    public private(set) var position: UInt64 = 0

    /// - Throws: `.malformedDescription` for an invalid key.
    public init(_ description: FileDescription) throws(XFTPError) {
        size = description.size
        expectedDigest = description.digest
        guard size >= ChunkPlan.overhead,
            let box = try? StreamBox(key: description.key, nonce: description.nonce)
        else { throw XFTPError(.malformedDescription, "The file description has an invalid key.") }
        self.box = box
    }

    /// Processes the next encrypted bytes. Computes hashes, so run it on a pool thread.
    public mutating func update(encrypted bytes: UnsafeRawBufferPointer) {
        digest.update(bytes)
        let end = size - UInt64(StreamBox.tagLength)
        let sealed = position >= end ? 0 : Int(min(UInt64(bytes.count), end - position))
        box.authenticate(UnsafeRawBufferPointer(rebasing: bytes[..<sealed]))
        // Keep at most one tag, even if the input is too long.
        tag.append(contentsOf: bytes[sealed...].prefix(max(0, StreamBox.tagLength - tag.count)))
        position += UInt64(bytes.count)
    }

    /// - Throws: `.damaged` unless the processed bytes are the described file.
    public func finish() throws(XFTPError) {
        guard position == size, box.isAuthentic(tag), digest.finalize() == expectedDigest else {
            throw .notTheSentFile
        }
    }
}

extension XFTPError {
    public static var notTheSentFile: XFTPError {
        XFTPError(.damaged, "Each chunk is valid, but together they are not the file that was sent.")
    }
}
