import Base
import Posix

/// An encrypted file with random access. Each block of 65,536 bytes is sealed by AES-256-GCM with a new nonce and bound
/// to the file's id and its number.
///
/// Reads detect a block that was changed, moved, taken from another file, or replaced by an earlier version during this
/// object's life. They do not detect whole blocks restored while the file was closed. Unwritten ranges read as zeros.
///
/// With a second file, a synchronised block is never overwritten: versions alternate between the two files. After a
/// power cut, the previous version is intact and opening the file finds it. Blocks written since the last `synchronise`
/// are overwritten in place, so appending costs no extra space.
///
/// Thread-safe for one writer. Reads run concurrently. A write excludes them unless it adds only whole new blocks. All
/// calls block on the disk.
public final class SealedFile: Sendable {
    /// The plaintext length of a block in bytes.
    public static let blockSize = SealedBlock.contentSize
    /// The maximum file size, 1 TiB (EFBIG). The block table is kept in memory.
    public static let maxSize: UInt64 = 1 << 40

    struct Block: Equatable {
        /// The nonce of the valid version, or zeros if the block does not exist.
        var nonce = SIMD16<UInt8>()
        /// Increments with each switch between the two files.
        var version: UInt32 = 0
        /// Whether the second file holds the block.
        var isSecond = false
    }

    struct Contents {
        var size: UInt64 = 0
        var blocks: [Block] = []
        /// The blocks written since the last `synchronise`.
        var unsynchronised: Set<Int> = []
    }

    /// The file for second versions, created on first use.
    struct SecondFile {
        var file: OpenFile?
        var make: (@Sendable () throws(SystemError) -> OpenFile)?
    }

    let file: OpenFile
    let second: Lock<SecondFile>
    let key: SecretBytes
    let fileID: [UInt8]
    let mutex = ReadWriteMutex(rank: .sealedFile)
    let contents: Lock<Contents>

    /// Opens an empty sealed file, or one written with the same key and id.
    /// - Parameters:
    ///   - file: A file open for reading and writing.
    ///   - key: 32 bytes, used only for this file or for files with different ids.
    ///   - fileID: Bytes that distinguish the files of one key.
    ///   - second: The existing file for second versions, if any.
    ///   - makeSecond: Creates that file on first use. If nil, blocks are overwritten in place.
    /// - Throws: `.invalidKey` for a key of another length, `.file`.
    public init(
        file: OpenFile, key: SecretBytes, fileID: [UInt8], second: OpenFile? = nil,
        makeSecond: (@Sendable () throws(SystemError) -> OpenFile)? = nil
    ) throws(CryptographyError) {
        guard key.count == 32 else {
            throw CryptographyError(.invalidKey, "The key of a sealed file must have 32 bytes.")
        }
        self.file = file
        self.key = key
        self.fileID = fileID
        self.second = Lock(SecondFile(file: second, make: makeSecond))
        contents = Lock(Contents())
        let found = try survey()
        contents.withLock { $0 = found }
    }

    /// - Throws: The errors of the initializer with `SecretBytes`.
    public convenience init(
        file: OpenFile, key: [UInt8], fileID: [UInt8], second: OpenFile? = nil,
        makeSecond: (@Sendable () throws(SystemError) -> OpenFile)? = nil
    ) throws(CryptographyError) {
        try self.init(
            file: file, key: SecretBytes(key), fileID: fileID, second: second, makeSecond: makeSecond)
    }

    /// The length of the plaintext in bytes.
    public var size: UInt64 { contents.withLock { $0.size } }

    /// Returns whether block `number` exists. Reads only memory.
    public func hasBlock(_ number: Int) -> Bool { block(number) != nil }

    func block(_ number: Int) -> Block? {
        contents.withLock { contents in
            guard number >= 0, number < contents.blocks.count else { return nil }
            let block = contents.blocks[number]
            return block.nonce == SIMD16() ? nil : block
        }
    }

    func remember(_ block: Block, of number: Int, size: UInt64) {
        let keepsTrack = second.withLock { $0.make != nil }
        contents.withLock { contents in
            if contents.blocks.count <= number {
                let missing = number + 1 - contents.blocks.count
                contents.blocks.append(contentsOf: repeatElement(Block(), count: missing))
            }
            contents.blocks[number] = block
            contents.size = max(contents.size, size)
            if keepsTrack { contents.unsynchronised.insert(number) }
        }
    }
}
