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
/// Any thread; reads run at once, a write excludes reads. All calls block on the disk.
public final class SealedFile: Sendable {
    /// Plaintext bytes of a block.
    public static let blockSize = 65_536
    /// No sealed file grows beyond 1 TiB (EFBIG): the table of its blocks stays in memory.
    public static let largestSize: UInt64 = 1 << 40
    /// nonce (12) ‖ length of the plaintext (4, big endian) ‖ tag (16), in front of the ciphertext.
    static let headerSize = BlockCipher.nonceLength + 4 + BlockCipher.tagLength
    static let slotSize = headerSize + blockSize

    private struct Contents {
        var size: UInt64
        /// The nonce each block was last sealed with, zeros where there is none: only that version of a
        /// block is accepted.
        var nonces: [SIMD16<UInt8>]
    }

    private let file: OpenFile
    private let key: SecretBytes
    private let fileID: [UInt8]
    private let turn = ReadWriteTurn()
    private let contents: Lock<Contents>

    /// Opens a sealed file, empty or written before with the same key and id.
    /// - Parameters:
    ///   - file: open for reading and writing.
    ///   - key: 32 bytes, used for this file only or for files with different ids.
    ///   - fileID: any bytes that tell files of one key apart.
    public init(file: OpenFile, key: SecretBytes, fileID: [UInt8]) throws(CryptographyError) {
        guard key.count == 32 else {
            throw CryptographyError(.invalidKey, "The key of a sealed file has 32 bytes.")
        }
        self.file = file
        self.key = key
        self.fileID = fileID
        contents = Lock(try Self.survey(file))
    }

    public convenience init(file: OpenFile, key: [UInt8], fileID: [UInt8]) throws(CryptographyError) {
        try self.init(file: file, key: SecretBytes(key), fileID: fileID)
    }

    /// What lies on disk: the size follows from the file's length, the nonces from the headers.
    private static func survey(_ file: OpenFile) throws(CryptographyError) -> Contents {
        try wrappingSystemError { () throws(SystemError) in
            let length = try file.size()
            let full = length / UInt64(slotSize)
            let rest = length % UInt64(slotSize)
            let tail = rest > UInt64(headerSize) ? rest - UInt64(headerSize) : 0
            var contents = Contents(size: full * UInt64(blockSize) + tail, nonces: [])
            for number in 0..<(Int(full) + (tail > 0 ? 1 : 0)) {
                let nonce = try file.read(
                    count: BlockCipher.nonceLength, at: UInt64(number) * UInt64(slotSize))
                contents.nonces.append(Self.vector(nonce))
            }
            return contents
        }
    }

    private static func vector(_ nonce: [UInt8]) -> SIMD16<UInt8> {
        var vector = SIMD16<UInt8>()
        for index in nonce.indices { vector[index] = nonce[index] }
        return vector
    }

    /// Length of the plaintext in bytes.
    public var size: UInt64 { contents.withLock { $0.size } }

    /// Whether block `number` was ever written and not dropped since. Reads memory only.
    public func hasBlock(_ number: Int) -> Bool { nonce(of: number) != nil }

    /// Bytes that the file takes on disk, from the filesystem.
    public func bytesOnDisk() throws(CryptographyError) -> UInt64 {
        try wrappingSystemError { () throws(SystemError) in UInt64(try file.status().st_blocks) * 512 }
    }

    private func nonce(of number: Int) -> SIMD16<UInt8>? {
        contents.withLock { contents in
            guard number >= 0, number < contents.nonces.count else { return nil }
            let nonce = contents.nonces[number]
            return nonce == SIMD16() ? nil : nonce
        }
    }

    private func remember(_ nonce: SIMD16<UInt8>, of number: Int, size: UInt64) {
        contents.withLock { contents in
            if contents.nonces.count <= number {
                let missing = number + 1 - contents.nonces.count
                contents.nonces.append(contentsOf: repeatElement(SIMD16(), count: missing))
            }
            contents.nonces[number] = nonce
            contents.size = max(contents.size, size)
        }
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
        guard var nonce = nonce(of: number) else { return 0 }
        let scratch = cipher.scratch
        let filled = try wrappingSystemError { () throws(SystemError) in
            try file.read(into: scratch, at: UInt64(number) * UInt64(Self.slotSize))
        }
        let header = scratch.baseAddress!
        let length = Int(
            UInt32(bigEndian: header.loadUnaligned(fromByteOffset: BlockCipher.nonceLength, as: UInt32.self)))
        let isThisVersion = memcmp(header, &nonce, BlockCipher.nonceLength) == 0
        guard filled >= Self.headerSize, length <= filled - Self.headerSize, isThisVersion,
            cipher.open(
                UnsafeRawBufferPointer(start: header + Self.headerSize, count: length), into: target,
                key: key, nonce: header, authenticated: identity(of: number, length: length),
                tag: header + BlockCipher.nonceLength + 4)
        else {
            throw CryptographyError(.notAuthentic, "A sealed block on disk is not the one that was written.")
        }
        return length
    }

    /// What a block's tag covers besides its bytes: whose block it is and which.
    private func identity(of number: Int, length: Int) -> [UInt8] {
        var identity = fileID
        identity.append(bigEndian: UInt64(number))
        identity.append(bigEndian: UInt32(length))
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
            // The old version is overwritten in place: have the room for the new one first.
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
        if chatfs_allocate(file.descriptor, offset, slot) != 0 && errno == ENOSPC {
            throw CryptographyError(SystemError(code: ENOSPC, operation: "write a file"))
        }
    }

    /// Seals the plaintext that lies in the cipher's scratch and writes it to its slot.
    private func store(_ number: Int, length: Int, with cipher: BlockCipher) throws(CryptographyError) {
        let header = cipher.scratch.baseAddress!
        var nonce = SIMD16<UInt8>()
        withUnsafeMutableBytes(of: &nonce) { randombytes_buf($0.baseAddress!, BlockCipher.nonceLength) }
        withUnsafeBytes(of: nonce) {
            header.copyMemory(from: $0.baseAddress!, byteCount: BlockCipher.nonceLength)
        }
        header.storeBytes(
            of: UInt32(length).bigEndian, toByteOffset: BlockCipher.nonceLength, as: UInt32.self)
        let body = header + Self.headerSize
        try cipher.seal(
            UnsafeRawBufferPointer(start: body, count: length), into: body, key: key, nonce: header,
            authenticated: identity(of: number, length: length), tag: header + BlockCipher.nonceLength + 4)
        let slot = UnsafeRawBufferPointer(start: header, count: Self.headerSize + length)
        try wrappingSystemError { () throws(SystemError) in
            try file.write(slot, at: UInt64(number) * UInt64(Self.slotSize))
        }
        remember(nonce, of: number, size: UInt64(number) * UInt64(Self.blockSize) + UInt64(length))
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
                }
            }
            let full = size / UInt64(Self.blockSize) * UInt64(Self.slotSize)
            let length = full + (tail > 0 ? UInt64(Self.headerSize + tail) : 0)
            try wrappingSystemError { () throws(SystemError) in try file.truncate(to: length) }
            contents.withLock { contents in
                contents.size = size
                if contents.nonces.count > blocks { contents.nonces.removeSubrange(blocks...) }
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
            contents.withLock { $0.nonces[number] = SIMD16() }
            let start = UInt64(number) * UInt64(Self.slotSize)
            try wrappingSystemError { () throws(SystemError) in
                try file.punchHole(start..<start + UInt64(Self.slotSize))
            }
        }
    }

    /// Makes everything written so far durable: fsync(2).
    public func synchronise() throws(CryptographyError) {
        try wrappingSystemError { () throws(SystemError) in try file.synchronise() }
    }
}
