import Base
import Cryptography
import Posix

extension ChunkStore {
    /// Fills the buffer with decrypted bytes. Returns false if a chunk is missing.
    /// - Throws: `DamagedChunks` if the disk lost a chunk.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Bool {
        for (chunk, part) in parts(of: offset, buffer.count) {
            let start = Int(part.lowerBound - offset)
            let target = UnsafeMutableRawBufferPointer(rebasing: buffer[start..<start + part.count])
            if let fetched = fetched(chunk) {
                decrypt(fetched, chunk, from: part.lowerBound, into: target)
                if part.upperBound >= min(layout.range(of: chunk).upperBound, contentEnd) {
                    unread.drop(key(chunk))
                }
                continue
            }
            guard let file = state.withLock({ $0.chunks[chunk]?.isOnDisk == true ? $0.file : nil }) else {
                return false
            }
            do throws(CryptographyError) {
                try tags.read(file, into: target, at: part.lowerBound)
            } catch {
                throw error.isDamage ? DamagedChunks(chunks: [chunk]) : error
            }
            box.transform(target, at: part.lowerBound)
        }
        return true
    }

    /// Decrypts a part of a chunk, from a position of the stream until the target is full.
    func decrypt(
        _ fetched: any FetchedChunk, _ chunk: Int, from position: UInt64,
        into target: UnsafeMutableRawBufferPointer
    ) {
        let start = Int(position - layout.range(of: chunk).lowerBound)
        box.transform(
            UnsafeRawBufferPointer(rebasing: fetched.bytes[start..<start + target.count]), into: target,
            at: position)
    }

    /// Reads encrypted bytes without a check. Returns fewer bytes if a chunk is missing.
    func readEncrypted(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(SystemError) -> Int {
        var done = 0
        for (chunk, part) in parts(of: offset, buffer.count) {
            let target = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + part.count])
            if let fetched = fetched(chunk) {
                let start = Int(part.lowerBound - layout.range(of: chunk).lowerBound)
                target.copyMemory(
                    from: UnsafeRawBufferPointer(rebasing: fetched.bytes[start..<start + part.count]))
            } else {
                guard isOnDisk(chunk), let file,
                    try file.read(into: target, at: part.lowerBound) == target.count
                else { return done }
            }
            done += part.count
        }
        return done
    }

    /// The parts of a range in each of its chunks.
    private func parts(of offset: UInt64, _ count: Int) -> [(chunk: Int, part: Range<UInt64>)] {
        let range = offset..<offset + UInt64(count)
        return layout.chunks(range).map { ($0, layout.range(of: $0).clamped(to: range)) }
    }

    /// The chunk if it is in memory.
    private func fetched(_ chunk: Int) -> (any FetchedChunk)? {
        switch state.withLock({ $0.chunks[chunk] }) {
        case .arrived(let fetched): fetched
        case .inMemory: memory.use(key(chunk))
        case .onDisk: unread.use(key(chunk))
        case .unchecked, nil: nil
        }
    }
}
