import Posix

extension SealedFile {
    /// Cuts the last block when it does not lie there as it was sealed: its writer was killed within the write, of
    /// which the kernel had done the first pages. What was before it is whole, and the file ends there.
    ///
    /// Only for a file that nobody finished: of any other a damaged end is to be noticed.
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
