import Base
import Posix

/// Reads of files that other programs may change. They return only bytes that match their tags. All calls block on the
/// disk.
extension BlockTags {
    /// Fills `buffer` from `offset` of the file on.
    /// - Throws: `.notAuthentic` if a block was changed; `.tooShort` if the file or the tags end before `offset` +
    ///   `buffer.count`; `.file`. `buffer` must then not be used.
    public func read(
        _ file: OpenFile, into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(CryptographyError) {
        var done = 0
        while done < buffer.count {
            let position = offset + UInt64(done)
            guard let proof = proof(at: position) else { throw Self.tooShort }
            let inner = Int(position - proof.start)
            let count = min(proof.length - inner, buffer.count - done)
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + count])
            if count == proof.length {
                try Self.load(proof, of: file, into: part)
            } else {
                let whole = UnsafeMutableRawBufferPointer.allocate(byteCount: proof.length, alignment: 64)
                defer { whole.deallocate() }
                try Self.load(proof, of: file, into: whole)
                part.copyMemory(from: UnsafeRawBufferPointer(rebasing: whole[inner..<inner + count]))
            }
            done += count
        }
    }

    /// Reads all covered sections and returns the damaged ones. EIO counts as damage; other errors are thrown.
    public func damagedSections(of file: OpenFile) throws(CryptographyError) -> [Int] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.blockSize, alignment: 4096)
        defer { buffer.deallocate() }
        var damaged: [Int] = []
        for (section, start) in starts.enumerated() {
            let end = section + 1 < starts.count ? starts[section + 1] : UInt64.max
            var position = start
            while position < end, let proof = proof(at: position) {
                do throws(CryptographyError) {
                    try Self.load(
                        proof, of: file,
                        into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<proof.length]))
                } catch {
                    guard error.isDamage else { throw error }
                    damaged.append(section)
                    break
                }
                position = proof.start + UInt64(proof.length)
            }
        }
        return damaged
    }

    private static func load(
        _ proof: Proof, of file: OpenFile, into buffer: UnsafeMutableRawBufferPointer
    ) throws(CryptographyError) {
        let count = try wrappingSystemError { () throws(SystemError) in
            try file.read(into: buffer, at: proof.start)
        }
        guard count == buffer.count else { throw tooShort }
        guard proof.holds(UnsafeRawBufferPointer(buffer)) else {
            throw CryptographyError(.notAuthentic, "A block of the encrypted file was changed on disk.")
        }
    }

    private static var tooShort: CryptographyError {
        CryptographyError(.tooShort, "The encrypted file was truncated.")
    }
}
