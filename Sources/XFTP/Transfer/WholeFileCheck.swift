import Base
import Cryptography

/// Verifies a whole file from its chunks in order: the SHA-512, the Poly1305 tag at the end, and the length. Proves
/// that individually verified chunks form the file that the sender encrypted.
public struct WholeFileCheck: Sendable {
    private let size: UInt64
    private let expectedDigest: [UInt8]
    private var digest = SHA512()
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

    /// Processes the next encrypted bytes. Computes SHA-512 and Poly1305, so run it on a pool thread.
    public mutating func update(encrypted bytes: UnsafeRawBufferPointer) {
        digest.update(bytes)
        let sealed = sealedCount(of: bytes.count)
        box.authenticate(UnsafeRawBufferPointer(rebasing: bytes[..<sealed]))
        take(UnsafeRawBufferPointer(rebasing: bytes[sealed...]), after: sealed)
    }

    /// Processes the next decrypted bytes (the tag unchanged) and encrypts them in place again. For files whose
    /// encrypted bytes were not kept.
    public mutating func update(stream bytes: UnsafeMutableRawBufferPointer) {
        let sealed = sealedCount(of: bytes.count)
        box.seal(UnsafeMutableRawBufferPointer(rebasing: bytes[..<sealed]))
        digest.update(UnsafeRawBufferPointer(bytes))
        take(UnsafeRawBufferPointer(rebasing: bytes[sealed...]), after: sealed)
    }

    /// Returns how many of the next `count` bytes precede the tag.
    private func sealedCount(of count: Int) -> Int {
        let end = size - UInt64(StreamBox.tagLength)
        return position >= end ? 0 : Int(min(UInt64(count), end - position))
    }

    private mutating func take(_ rest: UnsafeRawBufferPointer, after sealed: Int) {
        // Keep at most one tag, even if the input is too long.
        tag.append(contentsOf: rest.prefix(max(0, StreamBox.tagLength - tag.count)))
        position += UInt64(sealed + rest.count)
    }

    /// - Throws: `.damaged` unless the processed bytes are the described file.
    public func finish() throws(XFTPError) {
        guard position == size, box.isAuthentic(tag), digest.finalize() == expectedDigest else {
            throw XFTPError(
                .damaged, "Each chunk is valid, but together they are not the file that was sent."
            )
        }
    }
}
