import Base
import CLinux
import CSodium
import Glibc
import Posix

extension SealedFile {
    /// Writes all bytes at `offset`. A gap after the old end reads as zeros. A failed write (ENOSPC) leaves the
    /// existing blocks readable.
    /// - Throws: `.file`, also for files over `maxSize` (EFBIG); `.notAuthentic` if a partly overwritten block was
    ///   changed on disk; `.library`.
    public func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(CryptographyError) {
        try Self.checkSize(offset, plus: bytes.count)
        if areNewBlocks(offset, bytes.count) {
            try mutex.reading { () throws(CryptographyError) in try writeParts(bytes, at: offset) }
        } else {
            try mutex.writing { () throws(CryptographyError) in try writeParts(bytes, at: offset) }
        }
    }

    /// Whether the range covers only whole blocks that do not exist yet. Readers of other blocks need not wait for
    /// them.
    private func areNewBlocks(_ offset: UInt64, _ count: Int) -> Bool {
        let size = UInt64(Self.blockSize)
        guard offset % size == 0, UInt64(count) % size == 0 else { return false }
        let first = Int(offset / size)
        return !(first..<first + count / Self.blockSize).contains { hasBlock($0) }
    }

    private func writeParts(
        _ bytes: UnsafeRawBufferPointer, at offset: UInt64
    ) throws(CryptographyError) {
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

    /// - Throws: The errors of `write(_:at:)` for a buffer.
    public func write(_ bytes: [UInt8], at offset: UInt64) throws(CryptographyError) {
        try bytes.withUnsafeBufferPointer { buffer throws(CryptographyError) in
            try write(UnsafeRawBufferPointer(buffer), at: offset)
        }
    }

    private func writePart(
        _ part: UnsafeRawBufferPointer, of number: Int, at inner: Int, with cipher: BlockCipher
    ) throws(CryptographyError) {
        // Seal a full block without a copy. The block that it replaces may be shorter.
        if part.count == Self.blockSize {
            if hasBlock(number) { try reserve(number, length: Self.blockSize) }
            return try store(number, part, with: cipher)
        }
        let block = UnsafeMutableRawBufferPointer(rebasing: cipher.scratch[SealedBlock.headerSize...])
        var length = 0
        if hasBlock(number) {
            length = try load(number, into: block.baseAddress!, with: cipher)
            // The write may replace the old version in place, so reserve space first.
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
        let offset = Int64(number) * Int64(SealedBlock.slotSize)
        let slot = Int64(SealedBlock.headerSize + length)
        try wrappingSystemError { () throws(SystemError) in
            let target = try place(of: nextPlace(of: number))
            do throws(SystemError) {
                try check("write a file") { chatfs_allocate(target.descriptor, offset, slot) }
            } catch {
                // Some filesystems cannot reserve space, so only ENOSPC counts.
                if error.isFullDisk { throw error }
            }
        }
    }

    /// Seals the plaintext in the cipher's scratch memory and writes it to its slot.
    private func store(_ number: Int, length: Int, with cipher: BlockCipher) throws(CryptographyError) {
        try store(
            number,
            UnsafeRawBufferPointer(rebasing: cipher.scratch[SealedBlock.headerSize...].prefix(length)),
            with: cipher)
    }

    private func store(
        _ number: Int, _ plaintext: UnsafeRawBufferPointer, with cipher: BlockCipher
    ) throws(CryptographyError) {
        let length = plaintext.count
        let header = cipher.scratch.baseAddress!
        var block = nextPlace(of: number)
        block.nonce = SIMD16()
        withUnsafeMutableBytes(of: &block.nonce) { randombytes_buf($0.baseAddress!, SealedBlock.nonceLength) }
        withUnsafeBytes(of: block.nonce) {
            header.copyMemory(from: $0.baseAddress!, byteCount: SealedBlock.nonceLength)
        }
        header.storeBytes(
            of: UInt32(length).bigEndian, toByteOffset: SealedBlock.nonceLength, as: UInt32.self)
        header.storeBytes(
            of: block.version.bigEndian, toByteOffset: SealedBlock.nonceLength + 4, as: UInt32.self)
        let body = header + SealedBlock.headerSize
        try cipher.seal(
            plaintext, into: body, key: key, nonce: header,
            authenticated: identity(of: number, length: length, version: block.version),
            tag: header + SealedBlock.tagOffset)
        let slot = UnsafeRawBufferPointer(start: header, count: SealedBlock.headerSize + length)
        try wrappingSystemError { () throws(SystemError) in
            try place(of: block).write(slot, at: UInt64(number) * UInt64(SealedBlock.slotSize))
        }
        remember(block, of: number, size: UInt64(number) * UInt64(Self.blockSize) + UInt64(length))
    }

    /// Truncates the file or extends it with zeros.
    /// - Throws: `.file`, also for sizes over `maxSize` (EFBIG); `.notDurable`; `.notAuthentic` if the last block was
    ///   changed on disk; `.library`.
    public func truncate(to size: UInt64) throws(CryptographyError) {
        try Self.checkSize(size, plus: 0)
        try mutex.writing { () throws(CryptographyError) in
            let blocks = Int((size + UInt64(Self.blockSize) - 1) / UInt64(Self.blockSize))
            let tail = Int(size % UInt64(Self.blockSize))
            if size < self.size && tail > 0 && hasBlock(blocks - 1) {
                // Seal the last block without the removed bytes, so that they do not reappear when the file grows.
                try BlockCipher.borrow { (cipher) throws(CryptographyError) in
                    let target = cipher.scratch.baseAddress! + SealedBlock.headerSize
                    let length = try load(blocks - 1, into: target, with: cipher)
                    try store(blocks - 1, length: min(length, tail), with: cipher)
                    // The truncation below deletes the old version, so make the new one durable first.
                    if second.withLock({ $0.file != nil }) { try flush() }
                }
            }
            let full = size / UInt64(Self.blockSize) * UInt64(SealedBlock.slotSize)
            let length = full + (tail > 0 ? UInt64(SealedBlock.headerSize + tail) : 0)
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
        guard offset <= maxSize, UInt64(count) <= maxSize - offset else {
            throw CryptographyError(SystemError(code: EFBIG, operation: "extend a file beyond 1 TiB"))
        }
    }
}
