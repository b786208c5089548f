import Posix

extension SealedFile {
    /// Truncates an incomplete last block, left by a writer that was killed during a write. The file then ends after
    /// the previous block.
    ///
    /// Only for unfinished files. A finished file must report a damaged end instead.
    /// - Throws: `.file`.
    public func dropUnfinishedEnd() throws(CryptographyError) {
        let last = contents.withLock { $0.blocks.count } - 1
        guard let block = block(last) else { return }
        let isWhole = try mutex.reading { () throws(CryptographyError) in
            try BlockCipher.borrow { (cipher) throws(CryptographyError) in
                let target = cipher.scratch.baseAddress! + SealedBlock.headerSize
                return try open(block, last, into: target, with: cipher) != nil
            }
        }
        if !isWhole { try truncate(to: UInt64(last) * UInt64(Self.blockSize)) }
    }
}
