import Base
import Posix

/// Reads a CryptoFile while its writer still appends to it. The file has no tag yet, so the writer's block tags
/// authenticate each block. Thread-safe.
public struct UnfinishedCryptoFile: Sendable {
    private let file: ProvenFile
    private let box: StreamBox

    /// - Parameters:
    ///   - file: A file that this process writes with a `CryptoFileWriter`, open for reading and writing.
    ///   - arguments: The writer's arguments.
    ///   - tags: The writer's block tags.
    /// - Throws: `.invalidKey` for arguments of wrong lengths.
    public init(file: OpenFile, arguments: FileArguments, tags: BlockTags) throws(CryptographyError) {
        self.file = ProvenFile(file: file, tags: tags)
        box = try StreamBox(key: arguments.key, nonce: arguments.nonce)
    }

    public var tags: BlockTags { file.tags }

    /// Fills `buffer` with plaintext from `offset` on. Blocks on the disk.
    /// - Throws: `.tooShort` if part of the range is not flushed or the file shrank; `.notAuthentic` if the disk
    ///   returns other bytes; `.file`. `buffer` must then not be used.
    public func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(CryptographyError) {
        try file.read(into: buffer, at: offset)
        box.transform(buffer, at: offset)
    }

    /// Rewrites plaintext that the disk lost. Encrypts `bytes` in place. Blocks.
    /// - Throws: `.file`.
    public func mend(_ bytes: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(CryptographyError) {
        box.transform(bytes, at: offset)
        try wrappingSystemError { () throws(SystemError) in
            try file.file.write(UnsafeRawBufferPointer(bytes), at: offset)
        }
    }

    /// Reads all flushed blocks and returns the ranges that differ from the written ones. Blocks.
    /// - Throws: `.file`. EIO counts as damage and is not thrown.
    public func damage() throws(CryptographyError) -> [Range<UInt64>] { try file.damage() }

    /// Copies the ciphertext to another file and checks every block. Blocks.
    /// - Throws: `.notAuthentic` and `.tooShort` for damage, `.file`.
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
