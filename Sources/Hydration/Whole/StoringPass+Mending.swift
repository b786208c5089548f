import Base
import ChatCore

/// What the disk did not keep of the CryptoFile is written once more.
extension StoringPass {
    /// So many times the disk may lose something of one file.
    private static let mostDamages = 8

    /// The disk did not keep these chunks, which had passed: their next arrival is written in their place.
    /// Throws when that has happened too often.
    func lost(_ chunks: [Int]) throws(HydrationError) {
        let isHopeless = state.withLock { state in
            state.damages += 1
            state.damaged.formUnion(chunks.filter { $0 < state.next })
            return state.damages > Self.mostDamages
        }
        if isHopeless { throw .diskDoesNotKeep }
    }

    func mended(_ chunk: Int) {
        if servesReaders, let written = work.writtenContent { stream.wrote(chunk, to: written) }
        let waiting = state.withLock { state in
            state.damaged.remove(chunk)
            return state.waiting.removeValue(forKey: chunk)
        }
        waiting?.continuation.resume(returning: true)
        report(.mended(chunk))
    }
}
