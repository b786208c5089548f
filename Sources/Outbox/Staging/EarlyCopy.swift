import Base
import ChatCore
import Cryptography
import Posix

/// Encrypts a long draft for the core while it is written, as long as writes are sequential, as by copy
/// tools. After the last close only the tag and the disk remain. An overwrite makes the copy useless, and the
/// draft is copied at the end.
///
/// Call `wrote`, `discard` and `restart` with the draft's mutex held, the others on any thread.
final class EarlyCopy: Sendable {
    typealias Source = @Sendable () -> (file: SealedFile, size: UInt64)?

    private struct State {
        /// True if all writes were sequential.
        var isInOrder: Bool
        /// True if staging has taken the copy, until the next write.
        var isTaken = false
        var copy: StagedFileWriter?
        var isRunning = false
    }

    private let staging: StagingFolder
    private let slots: EarlyCopySlots
    private let form: StreamForm?
    private let state: Lock<State>

    /// - Parameters:
    ///   - isInOrder: True if the draft has no bytes yet.
    ///   - form: The form in which the core expects long files.
    init(isInOrder: Bool, in staging: StagingFolder, _ slots: EarlyCopySlots, form: StreamForm?) {
        self.form = form
        self.staging = staging
        self.slots = slots
        state = Lock(State(isInOrder: isInOrder), rank: .collection)
    }

    /// Number of bytes already copied.
    var copied: UInt64 { state.withLock { $0.copy }?.copied ?? 0 }

    /// Records a write of `range` to a draft of `oldSize` bytes.
    /// - Parameter source: Returns the readable bytes before each step; nil if the draft is not open.
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
        if let isFirst { StagingFolder.threads.submit { self.catchUp(with: source, isFirst: isFirst) } }
    }

    /// Returns a usable copy, otherwise an empty one. The caller must finish or discard it.
    /// - Parameter size: Size of the draft in bytes.
    func take(size: UInt64) throws -> StagedFileWriter {
        if let copy = takeCopy() { return copy }
        return try StagedFileWriter(in: staging, form: size < slots.minSize ? nil : form)
    }

    private func takeCopy() -> StagedFileWriter? {
        let copy = state.withLock { state in
            state.isTaken = true
            defer { state.copy = nil }
            return state.copy
        }
        if copy != nil { slots.release() }
        return copy
    }

    /// Drops the copy, because it is not the beginning of the final bytes. Never waits for a running copy.
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
            // On an error the draft is copied at the end, and staging reports a full disk or damage.
            discard()
        }
    }

    private func begin() throws -> StagedFileWriter? {
        let copy: StagedFileWriter
        do {
            copy = try StagedFileWriter(in: staging, form: form)
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

    /// Whole blocks only, because the next write seals the last block again.
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
