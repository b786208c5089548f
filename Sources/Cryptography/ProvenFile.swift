import Base
import Glibc
import Posix

/// A file that other programs may change. Reads return only bytes that match their block tags. Thread-safe. All calls
/// block on the disk.
public struct ProvenFile: Sendable {
    let file: OpenFile
    let tags: BlockTags

    public init(file: OpenFile, tags: BlockTags) {
        self.file = file
        self.tags = tags
    }

    /// Reads the whole file and compares it with its tags.
    /// - Throws: `.notAuthentic` if the disk returns other bytes or EIO; `.file` for other read errors.
    public func confirm() throws(CryptographyError) {
        guard try damage().isEmpty else { throw .notKept }
    }

    /// Fills `buffer` from `offset` on.
    /// - Throws: `.notAuthentic` if a block was changed; `.tooShort` if the file or the tags end before `offset` +
    ///   `buffer.count`; `.file`. `buffer` must then not be used.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(CryptographyError) {
        var done = 0
        while done < buffer.count {
            let position = offset + UInt64(done)
            let block = tags.block(at: position)
            let inner = Int(position - tags.start(of: block))
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
            try file.read(into: buffer, at: tags.start(of: block))
        }
        guard count == buffer.count else { throw Self.tooShort }
        guard proof.holds(UnsafeRawBufferPointer(buffer)) else {
            throw CryptographyError(
                .notAuthentic, "A block of the encrypted file was changed on disk.")
        }
    }

    /// Reads all covered blocks and returns the damaged ranges. EIO counts as damage; other errors are thrown.
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
                let start = tags.start(of: block)
                damage.append(start..<start + UInt64(proof.length))
            }
            block += 1
        }
        return damage
    }

    private static var tooShort: CryptographyError {
        CryptographyError(.tooShort, "The encrypted file was truncated.")
    }
}

extension CryptographyError {
    /// Whether the bytes on disk were changed or cannot be read (EIO).
    public var isDamage: Bool {
        switch code {
        case .notAuthentic, .tooShort: true
        case .file: systemCode == EIO
        default: false
        }
    }
}
