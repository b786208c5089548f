import Base
import ChatCore
import Cryptography
import Posix

/// The part of a long draft that is encrypted for the core while its writer is still busy, as long as that writes
/// from the beginning to the end, as copy tools do: after the last close only the tag and the disk are waited for. A
/// write to a place that was written already makes it worthless, and all is copied at the end.
///
/// `wrote`, `discard`, `restart` under the draft's mutex, the others on any thread. Copies on `ThreadPool.shared`.
final class EarlyCopy: Sendable {
    typealias Source = @Sendable () -> (file: SealedFile, size: UInt64)?

    private struct State {
        /// Everything so far was written in order.
        var isInOrder: Bool
        /// Taken by who stages the draft, until somebody writes on.
        var isTaken = false
        var copy: StagedFileWriter?
        var isRunning = false
    }

    private let staging: StagingFolder
    private let slots: EarlyCopySlots
    private let state: Lock<State>

    /// - Parameter isInOrder: nothing was written yet.
    init(isInOrder: Bool, in staging: StagingFolder, _ slots: EarlyCopySlots) {
        self.staging = staging
        self.slots = slots
        state = Lock(State(isInOrder: isInOrder), rank: .collection)
    }

    /// Bytes that need not be copied any more.
    var copied: UInt64 { state.withLock { $0.copy }?.copied ?? 0 }

    /// A writer has written `range`; before, the draft had `oldSize` bytes.
    /// - Parameter source: what can be copied along, asked before each step; nil when nobody has the draft open.
    func wrote(_ range: Range<UInt64>, oldSize: UInt64, from source: @escaping Source) {
        guard range.lowerBound >= oldSize else { return discard() }
        let isFirst: Bool? = state.withLock { state in
            state.isTaken = false
            guard state.isInOrder, !state.isRunning, range.upperBound >= slots.minSize,
                range.upperBound - (state.copy?.copied ?? 0) >= slots.step,
                state.copy != nil || slots.acquire()
            else { return nil }
            state.isRunning = true
            return state.copy == nil
        }
        if let isFirst { ThreadPool.shared.submit { self.catchUp(with: source, isFirst: isFirst) } }
    }

    /// The copy, when it can be gone on with. Whoever takes it finishes or discards it.
    func take() -> StagedFileWriter? {
        let copy = state.withLock { state in
            state.isTaken = true
            defer { state.copy = nil }
            return state.copy
        }
        if copy != nil { slots.release() }
        return copy
    }

    /// What is there cannot be the beginning of what will be sent. Never waits for the copying.
    func discard() {
        let copy = state.withLock { state in
            state.isInOrder = false
            defer { state.copy = nil }
            return state.copy
        }
        guard let copy else { return }
        slots.release()
        ThreadPool.shared.submit { copy.discard() }
    }

    /// The draft was emptied.
    func restart() { state.withLock { $0.isInOrder = true } }

    // MARK: - Copying

    private func catchUp(with source: Source, isFirst: Bool) {
        defer { state.withLock { $0.isRunning = false } }
        do {
            let known = isFirst ? try begin() : state.withLock { $0.copy }
            guard let copy = known else { return }
            while let (file, end) = nextStep(of: copy, source) {
                try copy.append(from: file, to: end) { self.isCurrent(copy) }
                copy.beginWritingBack()
            }
        } catch {
            // Then it is copied at the end, where a full disk or a damaged draft is told.
            discard()
        }
    }

    private func begin() throws -> StagedFileWriter? {
        let copy: StagedFileWriter
        do {
            copy = try StagedFileWriter(in: staging)
        } catch {
            slots.release()
            throw error
        }
        let isWanted = state.withLock { state in
            guard state.isInOrder, !state.isTaken else { return false }
            state.copy = copy
            return true
        }
        if isWanted { return copy }
        slots.release()
        copy.discard()
        return nil
    }

    /// Whole blocks only: the last one is sealed anew by the next write.
    private func nextStep(
        of copy: StagedFileWriter, _ source: Source
    ) -> (SealedFile, end: UInt64)? {
        guard let (file, size) = source(), isCurrent(copy) else { return nil }
        let block = UInt64(SealedFile.blockSize)
        let end = size / block * block
        guard end >= copy.copied + slots.step else { return nil }
        return (file, min(end, copy.copied + 8 * slots.step))
    }

    private func isCurrent(_ copy: StagedFileWriter) -> Bool { state.withLock { $0.copy === copy } }
}
