import Base
import CLinux
import CSodium
import Glibc
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
/// Any thread; reads run at once, a write excludes reads. All calls block on the disk.
public final class SealedFile: Sendable {
    /// Plaintext bytes of a block.
    public static let blockSize = 65_536
    /// No sealed file grows beyond 1 TiB (EFBIG): the table of its blocks stays in memory.
    public static let largestSize: UInt64 = 1 << 40
    /// nonce (12) ‖ length of the plaintext (4, big endian) ‖ version (4) ‖ tag (16), in front of the
    /// ciphertext.
    static let headerSize = BlockCipher.nonceLength + 8 + BlockCipher.tagLength
    static let slotSize = headerSize + blockSize
    private static let tagOffset = BlockCipher.nonceLength + 8

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
    private let turn = ReadWriteTurn()
    private let contents: Lock<Contents>

    /// Opens a sealed file, empty or written before with the same key and id.
    /// - Parameters:
    ///   - file: open for reading and writing.
    ///   - key: 32 bytes, used for this file only or for files with different ids.
    ///   - fileID: any bytes that tell files of one key apart.
    ///   - second: the file for second versions, where there is one already.
    ///   - makeSecond: makes it when it is first needed; nil: blocks are overwritten in place.
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
    public func bytesOnDisk() throws(CryptographyError) -> UInt64 {
        try wrappingSystemError { () throws(SystemError) in
            let second = try second.withLock { $0.file }?.status().st_blocks ?? 0
            return UInt64(try file.status().st_blocks + second) * 512
        }
    }

    private func block(_ number: Int) -> Block? {
        contents.withLock { contents in
            guard number >= 0, number < contents.blocks.count else { return nil }
            let block = contents.blocks[number]
            return block.nonce == SIMD16() ? nil : block
        }
    }

    private func remember(_ block: Block, of number: Int, size: UInt64) {
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

    /// Where the next version of a block goes.
    private func nextPlace(of number: Int) -> Block {
        guard var block = block(number) else { return Block() }
        let isKept = contents.withLock { !$0.unsynchronised.contains(number) }
        if isKept && second.withLock({ $0.make != nil }) {
            block.isSecond.toggle()
            block.version &+= 1
        }
        return block
    }

    /// The file that a block lies in.
    func place(of block: Block) throws(SystemError) -> OpenFile {
        guard block.isSecond else { return file }
        let (known, make) = second.withLock { ($0.file, $0.make) }
        if let known { return known }
        guard let made = try make?() else { return file }
        second.withLock { $0.file = made }
        return made
    }

    // MARK: - Reading

    /// Fills `buffer` from `offset` on; fewer bytes only at the end of the file. `notAuthentic` when a
    /// block on disk is not the one that was written; `buffer` must then not be used.
    public func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(CryptographyError) -> Int {
        try turn.reading { () throws(CryptographyError) in
            let size = self.size
            guard offset < size else { return 0 }
            let count = Int(min(UInt64(buffer.count), size - offset))
            try BlockCipher.borrow { (cipher) throws(CryptographyError) in
                var done = 0
                while done < count {
                    let position = offset + UInt64(done)
                    let inner = Int(position % UInt64(Self.blockSize))
                    let length = min(Self.blockSize - inner, count - done)
                    let part = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + length])
                    try readPart(part, of: Int(position / UInt64(Self.blockSize)), at: inner, with: cipher)
                    done += length
                }
            }
            return count
        }
    }

    private func readPart(
        _ part: UnsafeMutableRawBufferPointer, of number: Int, at inner: Int, with cipher: BlockCipher
    ) throws(CryptographyError) {
        // A whole block is decrypted straight to where it is wanted.
        let whole = part.count == Self.blockSize
        let target = whole ? part.baseAddress! : cipher.scratch.baseAddress! + Self.headerSize
        let length = try load(number, into: target, with: cipher)
        let filled = max(0, min(length - inner, part.count))
        if !whole && filled > 0 {
            part.copyMemory(from: UnsafeRawBufferPointer(start: target + inner, count: filled))
        }
        UnsafeMutableRawBufferPointer(rebasing: part[filled...]).initializeMemory(
            as: UInt8.self, repeating: 0)
    }

    /// Decrypts a block to `target` and answers its length, 0 when there is none.
    private func load(
        _ number: Int, into target: UnsafeMutableRawPointer, with cipher: BlockCipher
    ) throws(CryptographyError) -> Int {
        guard let block = block(number) else { return 0 }
        guard let length = try open(block, number, into: target, with: cipher) else {
            throw CryptographyError(.notAuthentic, "A sealed block on disk is not the one that was written.")
        }
        return length
    }

    /// The length of this version of a block, decrypted to `target`; nil when it does not lie there.
    func open(
        _ block: Block, _ number: Int, into target: UnsafeMutableRawPointer, with cipher: BlockCipher
    ) throws(CryptographyError) -> Int? {
        let scratch = cipher.scratch
        let filled = try wrappingSystemError { () throws(SystemError) in
            try place(of: block).read(into: scratch, at: UInt64(number) * UInt64(Self.slotSize))
        }
        let header = scratch.baseAddress!
        let length = Int(Self.field(0, of: header))
        var nonce = block.nonce
        guard filled >= Self.headerSize, length <= filled - Self.headerSize,
            memcmp(header, &nonce, BlockCipher.nonceLength) == 0, Self.field(1, of: header) == block.version,
            cipher.open(
                UnsafeRawBufferPointer(start: header + Self.headerSize, count: length), into: target,
                key: key, nonce: header,
                authenticated: identity(of: number, length: length, version: block.version),
                tag: header + Self.tagOffset)
        else { return nil }
        return length
    }

    /// The numbers of a header: 0 the length, 1 the version.
    static func field(_ index: Int, of header: UnsafeRawPointer) -> UInt32 {
        UInt32(
            bigEndian: header.loadUnaligned(
                fromByteOffset: BlockCipher.nonceLength + 4 * index, as: UInt32.self))
    }

    /// What a block's tag covers besides its bytes: whose block it is, which, and of which version.
    private func identity(of number: Int, length: Int, version: UInt32) -> [UInt8] {
        var identity = fileID
        identity.append(bigEndian: UInt64(number))
        identity.append(bigEndian: UInt32(length))
        identity.append(bigEndian: version)
        return identity
    }

    // MARK: - Writing

    /// Writes all bytes at `offset`, up to `largestSize`; what lies between the old end and `offset` reads as zeros. A failed
    /// write (ENOSPC) leaves the blocks that were there readable.
    public func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(CryptographyError) {
        try Self.checkSize(offset, plus: bytes.count)
        try turn.writing { () throws(CryptographyError) in
            try BlockCipher.borrow { (cipher) throws(CryptographyError) in
                var done = 0
                while done < bytes.count {
                    let position = offset + UInt64(done)
                    let inner = Int(position % UInt64(Self.blockSize))
                    let length = min(Self.blockSize - inner, bytes.count - done)
                    let part = UnsafeRawBufferPointer(rebasing: bytes[done..<done + length])
                    try writePart(part, of: Int(position / UInt64(Self.blockSize)), at: inner, with: cipher)
                    done += length
                }
            }
        }
    }

    public func write(_ bytes: [UInt8], at offset: UInt64) throws(CryptographyError) {
        try bytes.withUnsafeBufferPointer { buffer throws(CryptographyError) in
            try write(UnsafeRawBufferPointer(buffer), at: offset)
        }
    }

    private func writePart(
        _ part: UnsafeRawBufferPointer, of number: Int, at inner: Int, with cipher: BlockCipher
    ) throws(CryptographyError) {
        let block = UnsafeMutableRawBufferPointer(rebasing: cipher.scratch[Self.headerSize...])
        var length = 0
        if part.count < Self.blockSize && hasBlock(number) {
            length = try load(number, into: block.baseAddress!, with: cipher)
            // The old version may be overwritten in place: have the room for the new one first.
            try reserve(number, length: max(length, inner + part.count))
        }
        if inner > length {
            UnsafeMutableRawBufferPointer(rebasing: block[length..<inner])
                .initializeMemory(as: UInt8.self, repeating: 0)
        }
        UnsafeMutableRawBufferPointer(rebasing: block[inner..<inner + part.count]).copyMemory(from: part)
        length = max(length, inner + part.count)
        try store(number, length: length, with: cipher)
    }

    private func reserve(_ number: Int, length: Int) throws(CryptographyError) {
        let offset = Int64(number) * Int64(Self.slotSize)
        let slot = Int64(Self.headerSize + length)
        try wrappingSystemError { () throws(SystemError) in
            let target = try place(of: nextPlace(of: number))
            if chatfs_allocate(target.descriptor, offset, slot) != 0 && errno == ENOSPC {
                throw SystemError(code: ENOSPC, operation: "write a file")
            }
        }
    }

    /// Seals the plaintext that lies in the cipher's scratch and writes it to its slot.
    private func store(_ number: Int, length: Int, with cipher: BlockCipher) throws(CryptographyError) {
        let header = cipher.scratch.baseAddress!
        var block = nextPlace(of: number)
        block.nonce = SIMD16()
        withUnsafeMutableBytes(of: &block.nonce) { randombytes_buf($0.baseAddress!, BlockCipher.nonceLength) }
        withUnsafeBytes(of: block.nonce) {
            header.copyMemory(from: $0.baseAddress!, byteCount: BlockCipher.nonceLength)
        }
        header.storeBytes(
            of: UInt32(length).bigEndian, toByteOffset: BlockCipher.nonceLength, as: UInt32.self)
        header.storeBytes(
            of: block.version.bigEndian, toByteOffset: BlockCipher.nonceLength + 4, as: UInt32.self)
        let body = header + Self.headerSize
        try cipher.seal(
            UnsafeRawBufferPointer(start: body, count: length), into: body, key: key, nonce: header,
            authenticated: identity(of: number, length: length, version: block.version),
            tag: header + Self.tagOffset)
        let slot = UnsafeRawBufferPointer(start: header, count: Self.headerSize + length)
        try wrappingSystemError { () throws(SystemError) in
            try place(of: block).write(slot, at: UInt64(number) * UInt64(Self.slotSize))
        }
        remember(block, of: number, size: UInt64(number) * UInt64(Self.blockSize) + UInt64(length))
    }

    /// Writes a block that is not there yet, without excluding readers of the others. One caller per
    /// block.
    /// - Parameter fill: puts the plaintext, `count` bytes, where it is sealed: no copy is made.
    public func storeNewBlock(
        _ number: Int, count: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Void
    ) throws(CryptographyError) {
        precondition(count <= Self.blockSize && !hasBlock(number), "not a new block")
        try BlockCipher.borrow { (cipher) throws(CryptographyError) in
            fill(UnsafeMutableRawBufferPointer(rebasing: cipher.scratch[Self.headerSize...].prefix(count)))
            try store(number, length: count, with: cipher)
        }
    }

    /// Sets the length: cuts what lies beyond, or grows by zeros.
    public func truncate(to size: UInt64) throws(CryptographyError) {
        try Self.checkSize(size, plus: 0)
        try turn.writing { () throws(CryptographyError) in
            let blocks = Int((size + UInt64(Self.blockSize) - 1) / UInt64(Self.blockSize))
            let tail = Int(size % UInt64(Self.blockSize))
            if size < self.size && tail > 0 && hasBlock(blocks - 1) {
                // The last block is sealed anew without what was cut, lest it come back when growing.
                try BlockCipher.borrow { (cipher) throws(CryptographyError) in
                    let target = cipher.scratch.baseAddress! + Self.headerSize
                    let length = try load(blocks - 1, into: target, with: cipher)
                    try store(blocks - 1, length: min(length, tail), with: cipher)
                    // Its old version is cut below: the new one has to be there first.
                    if second.withLock({ $0.file != nil }) { try flush() }
                }
            }
            let full = size / UInt64(Self.blockSize) * UInt64(Self.slotSize)
            let length = full + (tail > 0 ? UInt64(Self.headerSize + tail) : 0)
            try wrappingSystemError { () throws(SystemError) in
                if let second = second.withLock({ $0.file }), try second.size() > length {
                    try second.truncate(to: length)
                }
                try file.truncate(to: length)
            }
            contents.withLock { contents in
                contents.size = size
                if contents.blocks.count > blocks { contents.blocks.removeSubrange(blocks...) }
                contents.unsynchronised = contents.unsynchronised.filter { $0 < blocks }
            }
        }
    }

    private static func checkSize(_ offset: UInt64, plus count: Int) throws(CryptographyError) {
        guard offset <= largestSize, UInt64(count) <= largestSize - offset else {
            throw CryptographyError(SystemError(code: EFBIG, operation: "make a file so large"))
        }
    }

    /// Forgets a block and gives its disk space back; it reads as zeros from then on.
    public func dropBlock(_ number: Int) throws(CryptographyError) {
        try turn.writing { () throws(CryptographyError) in
            guard hasBlock(number) else { return }
            contents.withLock { $0.blocks[number] = Block() }
            let start = UInt64(number) * UInt64(Self.slotSize)
            try wrappingSystemError { () throws(SystemError) in
                try file.punchHole(start..<start + UInt64(Self.slotSize))
                try second.withLock { $0.file }?.punchHole(start..<start + UInt64(Self.slotSize))
            }
        }
    }

    /// Makes everything written so far durable: fsync(2). Writers wait meanwhile, readers do not.
    public func synchronise() throws(CryptographyError) {
        try turn.reading { () throws(CryptographyError) in
            try flush()
            contents.withLock { $0.unsynchronised = [] }
        }
    }

    func flush() throws(CryptographyError) {
        try wrappingSystemError { () throws(SystemError) in
            try file.synchronise()
            try second.withLock { $0.file }?.synchronise()
        }
    }
}
