import Base
import Glibc
import Posix

extension SealedFile {
    /// Fills `buffer` from `offset` on. Returns fewer bytes only at the end of the file.
    /// - Throws: `.notAuthentic` if a block on disk was changed, `.file`. `buffer` must then not be used.
    public func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(CryptographyError) -> Int {
        try mutex.reading { () throws(CryptographyError) in
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
        // Decrypt a full block straight into the caller's buffer.
        let whole = part.count == Self.blockSize
        let target = whole ? part.baseAddress! : cipher.scratch.baseAddress! + SealedBlock.headerSize
        let length = try load(number, into: target, with: cipher)
        let filled = max(0, min(length - inner, part.count))
        if !whole && filled > 0 {
            part.copyMemory(from: UnsafeRawBufferPointer(start: target + inner, count: filled))
        }
        UnsafeMutableRawBufferPointer(rebasing: part[filled...]).initializeMemory(
            as: UInt8.self, repeating: 0)
    }

    /// Decrypts a block to `target` and returns its length, or 0 if it does not exist.
    func load(
        _ number: Int, into target: UnsafeMutableRawPointer, with cipher: BlockCipher
    ) throws(CryptographyError) -> Int {
        guard let block = block(number) else { return 0 }
        guard let length = try open(block, number, into: target, with: cipher) else {
            throw CryptographyError(.notAuthentic, "A sealed block was changed on disk.")
        }
        return length
    }

    /// Decrypts a version of a block to `target` and returns its length, or nil if the disk holds another version.
    func open(
        _ block: Block, _ number: Int, into target: UnsafeMutableRawPointer, with cipher: BlockCipher
    ) throws(CryptographyError) -> Int? {
        let scratch = cipher.scratch
        let filled = try wrappingSystemError { () throws(SystemError) in
            try place(of: block).read(into: scratch, at: UInt64(number) * UInt64(SealedBlock.slotSize))
        }
        let header = scratch.baseAddress!
        let length = Int(Self.field(0, of: header))
        var nonce = block.nonce
        guard filled >= SealedBlock.headerSize, length <= filled - SealedBlock.headerSize,
            memcmp(header, &nonce, SealedBlock.nonceLength) == 0, Self.field(1, of: header) == block.version,
            cipher.open(
                UnsafeRawBufferPointer(start: header + SealedBlock.headerSize, count: length), into: target,
                key: key, nonce: header,
                authenticated: identity(of: number, length: length, version: block.version),
                tag: header + SealedBlock.tagOffset)
        else { return nil }
        return length
    }

    /// Returns a number of a header: 0 is the length, 1 the version.
    static func field(_ index: Int, of header: UnsafeRawPointer) -> UInt32 {
        UInt32(
            bigEndian: header.loadUnaligned(
                fromByteOffset: SealedBlock.nonceLength + 4 * index, as: UInt32.self))
    }

    /// Additional authenticated data of a block: file id, number, length and version.
    func identity(of number: Int, length: Int, version: UInt32) -> [UInt8] {
        var identity = fileID
        identity.append(bigEndian: UInt64(number))
        identity.append(bigEndian: UInt32(length))
        identity.append(bigEndian: version)
        return identity
    }
}
