import Base
import Posix

/// Writes a CryptoFile whose bytes arrive encrypted, front to back, the tag last. Computes block tags, with a block that
/// begins where the content does.
///
/// Used by one task at a time.
public final class CiphertextWriter {
    private let file: OpenFile
    private var tagging: BlockTagging
    /// The number of written bytes.
    public private(set) var position: UInt64 = 0

    /// - Parameters:
    ///   - file: An empty file, open for writing.
    ///   - arguments: The arguments of the file that arrives.
    public init(file: OpenFile, arguments: FileArguments) {
        self.file = file
        tagging = BlockTagging(arguments)
    }

    /// The tags of the flushed blocks.
    public var tags: BlockTags { tagging.tags }

    /// Writes the next bytes, or none of them if the disk fails, so the caller can retry. Blocks on the disk.
    /// - Throws: `.file`.
    public func append(_ bytes: UnsafeRawBufferPointer) throws(CryptographyError) {
        try wrappingSystemError { () throws(SystemError) in try file.write(bytes, at: position) }
        tagging.add(bytes)
        position += UInt64(bytes.count)
    }

    /// Makes all written bytes readable for `UnfinishedCryptoFile`.
    public func flush() { tagging.publish() }
}
