import Base
import Posix

/// A file with random access whose bytes on disk are worthless without a key: blocks of 65,536 bytes,
/// each sealed by AES-256-GCM with a fresh nonce and bound to the file's id and its own number.
///
/// A block that was changed, swapped with another, taken from another file, or put back from an earlier
/// moment of this object's life fails with `notAuthentic`. Whole blocks put back while nobody had the file
/// open are not noticed. What was never written reads as zeros, as in any sparse file.
///
/// With a file for second versions, a block that was synchronised is not overwritten: its next version
/// goes to its place in the other of the two files, and the one after that back. Whatever a power cut
/// leaves of a version under way, the one before is whole, and opening the file finds it. A block that was
/// written since the last `synchronise` is overwritten where it is, so appending costs nothing more.
///
/// Any thread, but one write at a time. Reads run at once; a write excludes them unless it only adds whole
/// blocks that were not there. All calls block on the disk.
public final class SealedFile: Sendable {
    /// Plaintext bytes of a block.
    public static let blockSize = SealedBlock.contentSize
    /// No sealed file grows beyond 1 TiB (EFBIG): the table of its blocks stays in memory.
    public static let maxSize: UInt64 = 1 << 40

    struct Block: Equatable {
        /// The nonce it was last sealed with, zeros where there is none: only that version is accepted.
        var nonce = SIMD16<UInt8>()
        /// Counts the changes from one file to the other.
        var version: UInt32 = 0
        /// Where it lies.
        var isSecond = false
    }

    struct Contents {
        var size: UInt64 = 0
        var blocks: [Block] = []
        /// Blocks written since the last `synchronise`.
        var unsynchronised: Set<Int> = []
    }

    /// The file for second versions, made when it is first needed.
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

    /// Opens a sealed file, empty or written before with the same key and id.
    /// - Parameters:
    ///   - file: open for reading and writing.
    ///   - key: 32 bytes, used for this file only or for files with different ids.
    ///   - fileID: any bytes that tell files of one key apart.
    ///   - second: the file for second versions, where there is one already.
    ///   - makeSecond: makes it when it is first needed; nil: blocks are overwritten in place.
    /// - Throws: `.invalidKey` for a key of another length, `.file`.
    public init(
        file: OpenFile, key: SecretBytes, fileID: [UInt8], second: OpenFile? = nil,
        makeSecond: (@Sendable () throws(SystemError) -> OpenFile)? = nil
    ) throws(CryptographyError) {
        guard key.count == 32 else {
            throw CryptographyError(.invalidKey, "The key of a sealed file has 32 bytes.")
        }
        self.file = file
        self.key = key
        self.fileID = fileID
        self.second = Lock(SecondFile(file: second, make: makeSecond))
        contents = Lock(Contents())
        let found = try survey()
        contents.withLock { $0 = found }
    }

    /// - Throws: as with a key in memory of its own.
    public convenience init(
        file: OpenFile, key: [UInt8], fileID: [UInt8], second: OpenFile? = nil,
        makeSecond: (@Sendable () throws(SystemError) -> OpenFile)? = nil
    ) throws(CryptographyError) {
        try self.init(
            file: file, key: SecretBytes(key), fileID: fileID, second: second, makeSecond: makeSecond)
    }

    /// Length of the plaintext in bytes.
    public var size: UInt64 { contents.withLock { $0.size } }

    /// Whether block `number` was ever written and not dropped since. Reads memory only.
    public func hasBlock(_ number: Int) -> Bool { block(number) != nil }

    /// Bytes that the file takes on disk, from the filesystem.
    /// - Throws: `.file`.
    public func bytesOnDisk() throws(CryptographyError) -> UInt64 {
        try wrappingSystemError { () throws(SystemError) in
            let second = try second.withLock { $0.file }?.status().st_blocks ?? 0
            return UInt64(try file.status().st_blocks + second) * 512
        }
    }

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
