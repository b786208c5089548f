import Base
import Glibc
import Posix

/// Reads the block headers when a sealed file is opened.
extension SealedFile {
    /// Returns the valid version of each block: the later one, unless a power cut left it incomplete. The size follows
    /// from the length of the first file and from blocks of the second file beyond it.
    func survey() throws(CryptographyError) -> Contents {
        var contents = try headers(of: file, isSecond: false)
        guard let second = second.withLock({ $0.file }) else { return contents }
        let others = try headers(of: second, isSecond: true)
        for (number, other) in others.blocks.enumerated() where other.nonce != SIMD16() {
            let known = number < contents.blocks.count ? contents.blocks[number] : Block()
            guard let length = try length(of: other, number, whenLaterThan: known) else { continue }
            if contents.blocks.count <= number {
                let missing = number + 1 - contents.blocks.count
                contents.blocks.append(contentsOf: repeatElement(Block(), count: missing))
            }
            contents.blocks[number] = other
            contents.size = max(
                contents.size, UInt64(number) * UInt64(Self.blockSize) + UInt64(length))
        }
        // Writers may overwrite the other versions next, so make the chosen ones durable.
        try flush()
        return contents
    }

    /// Returns the length of a block in the second file if it is the valid version, otherwise nil.
    private func length(
        of other: Block, _ number: Int, whenLaterThan known: Block
    ) throws(CryptographyError) -> Int? {
        try BlockCipher.borrow { (cipher) throws(CryptographyError) in
            let target = cipher.scratch.baseAddress! + SealedBlock.headerSize
            let length = try open(other, number, into: target, with: cipher)
            guard known.nonce != SIMD16(), Int32(bitPattern: other.version &- known.version) < 0 else {
                return length
            }
            // The version in the first file is later; it is valid if it is complete.
            return try open(known, number, into: target, with: cipher) == nil ? length : nil
        }
    }

    private func headers(of file: OpenFile, isSecond: Bool) throws(CryptographyError) -> Contents {
        try wrappingSystemError { () throws(SystemError) in
            let length = try file.size()
            let full = length / UInt64(SealedBlock.slotSize)
            let rest = length % UInt64(SealedBlock.slotSize)
            let tail = rest > UInt64(SealedBlock.headerSize) ? rest - UInt64(SealedBlock.headerSize) : 0
            var contents = Contents(size: full * UInt64(Self.blockSize) + tail)
            for number in 0..<(Int(full) + (tail > 0 ? 1 : 0)) {
                let header = try file.read(
                    count: SealedBlock.headerSize, at: UInt64(number) * UInt64(SealedBlock.slotSize))
                var block = Block(isSecond: isSecond)
                guard header.count == SealedBlock.headerSize else { break }
                for index in 0..<SealedBlock.nonceLength { block.nonce[index] = header[index] }
                header.withUnsafeBytes { block.version = Self.field(1, of: $0.baseAddress!) }
                contents.blocks.append(block)
            }
            return contents
        }
    }
}
