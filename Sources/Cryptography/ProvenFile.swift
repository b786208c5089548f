import Base
import Glibc
import Posix

/// A file that lies where others may change it, and gives out only bytes that were proven since they last
/// came from the disk. Any thread. All calls block on the disk.
public struct ProvenFile: Sendable {
    let file: OpenFile
    let tags: BlockTags

    public init(file: OpenFile, tags: BlockTags) {
        self.file = file
        self.tags = tags
    }

    /// Reads all of it back and compares.
    /// - Throws: `.notAuthentic` when the disk does not keep what was written, or does not give it back (EIO);
    ///   `.file` when it cannot be read for another reason.
    public func confirm() throws(CryptographyError) {
        guard try damage().isEmpty else { throw .notKept }
    }

    /// Fills `buffer` from `offset` on. `notAuthentic` when a block is not the one that was there, `tooShort`
    /// when the file ends before it, or it is not covered; `buffer` must then not be used.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(CryptographyError) {
        let size = UInt64(BlockTags.blockSize)
        var done = 0
        while done < buffer.count {
            let position = offset + UInt64(done)
            let block = Int(position / size)
            let inner = Int(position % size)
            guard let proof = tags.proof(of: block), inner < proof.length else { throw Self.tooShort }
            let count = min(proof.length - inner, buffer.count - done)
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + count])
            if count == proof.length {
                try load(block, proof, into: part)
            } else {
                let whole = UnsafeMutableRawBufferPointer.allocate(byteCount: proof.length, alignment: 64)
                defer { whole.deallocate() }
                try load(block, proof, into: whole)
                part.copyMemory(from: UnsafeRawBufferPointer(rebasing: whole[inner..<inner + count]))
            }
            done += count
        }
    }

    private func load(
        _ block: Int, _ proof: BlockTags.Proof, into buffer: UnsafeMutableRawBufferPointer
    ) throws(CryptographyError) {
        let count = try wrappingSystemError { () throws(SystemError) in
            try file.read(into: buffer, at: UInt64(block) * UInt64(BlockTags.blockSize))
        }
        guard count == buffer.count else { throw Self.tooShort }
        guard proof.holds(UnsafeRawBufferPointer(buffer)) else {
            throw CryptographyError(
                .notAuthentic, "A block of the encrypted file is not the one that was written or checked.")
        }
    }

    /// Reads all that is covered, and answers the ranges that are not as they were. Other errors than those of
    /// a disk that does not give its bytes back are thrown.
    func damage() throws(CryptographyError) -> [Range<UInt64>] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: BlockTags.blockSize, alignment: 4096)
        defer { buffer.deallocate() }
        var damage: [Range<UInt64>] = []
        var block = 0
        while let proof = tags.proof(of: block) {
            do throws(CryptographyError) {
                try load(block, proof, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<proof.length]))
            } catch {
                guard error.isDamage else { throw error }
                let start = UInt64(block) * UInt64(BlockTags.blockSize)
                damage.append(start..<start + UInt64(proof.length))
            }
            block += 1
        }
        return damage
    }

    private static var tooShort: CryptographyError {
        CryptographyError(.tooShort, "The encrypted file became shorter than it was.")
    }
}

extension CryptographyError {
    /// The bytes on the disk are not those that were written, or the disk does not give them back.
    public var isDamage: Bool {
        switch code {
        case .notAuthentic, .tooShort: true
        case .file: systemCode == EIO
        default: false
        }
    }
}
