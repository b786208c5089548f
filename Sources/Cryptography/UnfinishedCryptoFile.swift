import Base
import Posix

/// What has been written of a CryptoFile so far, for its writer: the tag that would prove it to others is
/// not there yet, so every block proves itself by the tags that its writer made. Any thread, also while more
/// is written.
public struct UnfinishedCryptoFile: Sendable {
    private let file: ProvenFile
    private let box: StreamBox

    /// - Parameters:
    ///   - file: open for reading and writing; what this process writes with a `CryptoFileWriter`.
    ///   - arguments, tags: those of the writer.
    /// - Throws: `.invalidKey` for arguments of other lengths.
    public init(file: OpenFile, arguments: FileArguments, tags: BlockTags) throws(CryptographyError) {
        self.file = ProvenFile(file: file, tags: tags)
        box = try StreamBox(key: arguments.key, nonce: arguments.nonce)
    }

    public var tags: BlockTags { file.tags }

    /// Fills `buffer` with plaintext from `offset` on. Blocks on the disk.
    /// - Throws: `.tooShort` when not all of it has been flushed, or the file became shorter; `.notAuthentic`
    ///   when the disk gives back something else than was written; `.file`. `buffer` must then not be used.
    public func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(CryptographyError) {
        try file.read(into: buffer, at: offset)
        box.transform(buffer, at: offset)
    }

    /// Writes plaintext to its place once more, where the disk did not keep it. `bytes` are changed. Blocks.
    /// - Throws: `.file`.
    public func mend(_ bytes: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(CryptographyError) {
        box.transform(bytes, at: offset)
        try wrappingSystemError { () throws(SystemError) in
            try file.file.write(UnsafeRawBufferPointer(bytes), at: offset)
        }
    }

    /// Reads back all that was flushed, and answers the ranges of the file that are not what was written.
    /// Blocks.
    /// - Throws: `.file`, but not for what the disk does not give back (EIO): that is damage.
    public func damage() throws(CryptographyError) -> [Range<UInt64>] { try file.damage() }

    /// All of its ciphertext once more, in another file, every block of it proven. Blocks.
    /// - Throws: `.notAuthentic` and `.tooShort` for what is damaged, `.file`.
    public func copy(to other: OpenFile) throws(CryptographyError) -> UnfinishedCryptoFile {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
        defer { buffer.deallocate() }
        let size = tags.size
        var position: UInt64 = 0
        while position < size {
            let count = Int(min(UInt64(buffer.count), size - position))
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
            try file.read(into: piece, at: position)
            try wrappingSystemError { () throws(SystemError) in
                try other.write(UnsafeRawBufferPointer(piece), at: position)
            }
            position += UInt64(count)
        }
        return UnfinishedCryptoFile(file: ProvenFile(file: other, tags: tags), box: box)
    }

    private init(file: ProvenFile, box: StreamBox) {
        self.file = file
        self.box = box
    }
}
