import Base
import Posix

/// Writes a CryptoFile front to back: ciphertext as long as the plaintext, then the 16-byte tag
/// (simplex-chat `CryptoFile`). Memory stays at 512 KiB whatever the size.
///
/// What is written begins and ends at multiples of 256 KiB of the file, but for what `flush` asks for: the kernel
/// then has large pages for it, and does each once.
///
/// Used by one task at a time. Until `finish` has returned the file has no tag and is not valid.
public final class CryptoFileWriter {
    private let file: OpenFile
    private var box: StreamBox
    /// Twice as much as is written at once.
    private let buffer: UnsafeMutableRawBufferPointer
    private static let portion = 256 << 10
    private var filled = 0
    private var written: UInt64 = 0
    private var tagging: BlockTagging?
    private var isFinished = false
    /// Bytes of plaintext that were appended.
    public var position: UInt64 { box.position }

    /// - Parameters:
    ///   - file: open for writing and empty.
    ///   - arguments: fresh; the same pair for two contents would give both away.
    ///   - makesTags: whether what is written can be proven before it has a tag, and is read back at the end.
    /// - Throws: `.invalidKey` for arguments of other lengths.
    public init(
        file: OpenFile, arguments: FileArguments, makesTags: Bool = false
    ) throws(CryptographyError) {
        self.file = file
        tagging = makesTags ? BlockTagging() : nil
        box = try StreamBox(key: arguments.key, nonce: arguments.nonce)
        buffer = .allocate(byteCount: 2 * Self.portion, alignment: 4096)
    }

    deinit { buffer.deallocate() }

    /// Proofs of what was flushed, at the end with the file's own tag; nil when none are made.
    public var tags: BlockTags? { tagging?.tags }

    /// Adds the next bytes of plaintext, any number. Up to 256 KiB at once are taken whole or, when the disk
    /// fails, not at all: then they may be given again. Blocks on the disk.
    /// - Throws: `.file`.
    public func append(_ bytes: UnsafeRawBufferPointer) throws(CryptographyError) {
        var start = 0
        while start < bytes.count {
            let count = min(Self.portion, bytes.count - start)
            try writePortions()
            let place = UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<filled + count])
            box.seal(UnsafeRawBufferPointer(rebasing: bytes[start..<start + count]), into: place)
            tagging?.add(UnsafeRawBufferPointer(place))
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

    /// Writes what of the buffer lies before the last multiple of `portion`, and leaves less than that.
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

    /// Brings what was appended to the file, so that `UnfinishedCryptoFile` gives it back. What a failing disk
    /// did not take is written by the next call.
    /// - Throws: `.file`.
    public func flush() throws(CryptographyError) {
        guard filled > 0 else { return }
        try writePortions()
        if filled > 0 { try write(filled) }
        tagging?.publish()
    }

    /// Writes the tag and answers the size of the plaintext; may be repeated. Durability is the caller's:
    /// `synchronise`.
    /// - Throws: `.file`.
    @discardableResult
    public func finish() throws(CryptographyError) -> UInt64 {
        try flush()
        let tag = box.tag()
        try wrappingSystemError { () throws(SystemError) in try file.write(tag, at: written) }
        if !isFinished {
            tag.withUnsafeBytes { tagging?.add($0) }
            tagging?.publish()
            isFinished = true
        }
        return box.position
    }

    /// Reads back what was written and compares it with the tags that were made. Blocks.
    /// - Throws: as `ProvenFile.confirm`.
    public func confirm() throws(CryptographyError) {
        guard let tags else { preconditionFailure("a file without tags cannot be confirmed") }
        try ProvenFile(file: file, tags: tags).confirm()
    }
}
