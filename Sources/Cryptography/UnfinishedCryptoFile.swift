import Base
import Glibc
import Posix

/// Reads a CryptoFile while its writer still appends to it. The file has no tag yet, so the writer's block tags
/// authenticate each block. Positions are those of the whole plaintext, wherever the content lies. Thread-safe.
public struct UnfinishedCryptoFile: Sendable {
    private let file: ProvenFile
    private let box: StreamBox

    /// - Parameters:
    ///   - file: A file that this process writes with a `CryptoFileWriter` or a `CiphertextWriter`, open for reading
    ///     and writing.
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
        try mend(ciphertext: UnsafeRawBufferPointer(bytes), at: offset)
    }

    /// Rewrites ciphertext that the disk lost. Blocks.
    /// - Throws: `.file`.
    public func mend(
        ciphertext bytes: UnsafeRawBufferPointer, at offset: UInt64
    ) throws(CryptographyError) {
        try wrappingSystemError { () throws(SystemError) in try file.file.write(bytes, at: offset) }
    }

    /// Reads the whole file, which ends with its tag, and returns whether the tag is that of the rest. False also if the
    /// file is shorter than a tag or cannot be read (EIO). Blocks.
    /// - Throws: `.file`.
    public func isAuthentic() throws(CryptographyError) -> Bool {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
        defer { buffer.deallocate() }
        var authenticator = box
        do throws(SystemError) {
            let size = try file.file.size()
            guard size >= UInt64(StreamBox.tagLength) else { return false }
            let end = size - UInt64(StreamBox.tagLength)
            while authenticator.position < end {
                let position = authenticator.position
                let count = Int(min(UInt64(buffer.count), end - position))
                let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
                guard try file.file.read(into: piece, at: position) == count else { return false }
                authenticator.authenticate(UnsafeRawBufferPointer(piece))
            }
            return authenticator.isAuthentic(try file.file.read(count: StreamBox.tagLength, at: end))
        } catch {
            if error.code == EIO { return false }
            throw CryptographyError(error)
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
