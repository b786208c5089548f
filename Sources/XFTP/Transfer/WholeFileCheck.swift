import Base
import Cryptography

/// The check of a whole file, chunk after chunk in order: SHA-512 of all bytes, the Poly1305 tag at
/// their end, their number. Chunks were checked one by one before; this proves that together they
/// are the file that the sender encrypted.
public struct WholeFileCheck: Sendable {
    private let size: UInt64
    private let expectedDigest: [UInt8]
    private var digest = SHA512()
    private var box: StreamBox
    private var tag: [UInt8] = []
    /// Bytes that have gone through.
    public private(set) var position: UInt64 = 0

    /// - Throws: `.malformedDescription` for one without a proper key.
    public init(_ description: FileDescription) throws(XFTPError) {
        size = description.size
        expectedDigest = description.digest
        guard size >= ChunkPlan.overhead,
            let box = try? StreamBox(key: description.key, nonce: description.nonce)
        else { throw XFTPError(.malformedDescription, "The file description has no proper key.") }
        self.box = box
    }

    /// The next bytes as they lie on the relays. Costs SHA-512 and Poly1305: for a pool thread.
    public mutating func update(encrypted bytes: UnsafeRawBufferPointer) {
        digest.update(bytes)
        let sealed = sealedCount(of: bytes.count)
        box.authenticate(UnsafeRawBufferPointer(rebasing: bytes[..<sealed]))
        take(UnsafeRawBufferPointer(rebasing: bytes[sealed...]), after: sealed)
    }

    /// The next bytes of the stream after decryption (the tag at the end as it is). They are
    /// encrypted again in place, for a file whose encrypted bytes were not kept.
    public mutating func update(stream bytes: UnsafeMutableRawBufferPointer) {
        let sealed = sealedCount(of: bytes.count)
        box.seal(UnsafeMutableRawBufferPointer(rebasing: bytes[..<sealed]))
        digest.update(UnsafeRawBufferPointer(bytes))
        take(UnsafeRawBufferPointer(rebasing: bytes[sealed...]), after: sealed)
    }

    /// How many of the next `count` bytes lie in front of the tag.
    private func sealedCount(of count: Int) -> Int {
        let end = size - UInt64(StreamBox.tagLength)
        return position >= end ? 0 : Int(min(UInt64(count), end - position))
    }

    private mutating func take(_ rest: UnsafeRawBufferPointer, after sealed: Int) {
        // Never more than a tag is kept, however many bytes somebody gives.
        tag.append(contentsOf: rest.prefix(max(0, StreamBox.tagLength - tag.count)))
        position += UInt64(sealed + rest.count)
    }

    /// - Throws: `.damaged` unless exactly the described file went through.
    public func finish() throws(XFTPError) {
        guard position == size, box.isAuthentic(tag), digest.finalize() == expectedDigest else {
            throw XFTPError(
                .damaged, "The chunks are right one by one, but together they are not the file that was sent."
            )
        }
    }
}
