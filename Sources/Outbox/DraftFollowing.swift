import Base
import ChatCore
import Cryptography
import Posix

// A long file that is written from its beginning to its end, as copy tools do, is encrypted for the core
// while its writer is still busy: after the last close only the tag and the disk are waited for. A write to
// a place that was written already makes that copy worthless, and all is copied at the end.
extension Draft {
    /// What of a draft is being copied along.
    struct Following: Sendable {
        /// Everything so far was written in order.
        var isInOrder = false
        var copy: StagedCopy?
        var isRunning = false
    }

    /// A writer has written `written`; before, the draft had `oldSize` bytes. Under the turn.
    func follow(_ written: Range<UInt64>, oldSize: UInt64) {
        guard written.lowerBound >= oldSize else { return stopFollowing() }
        let (begins, isFirst) = record.withLock { record in
            let copy = record.following.copy
            guard record.phase == .draft, record.following.isInOrder, !record.following.isRunning,
                record.entry.size >= room.followers.shortest,
                record.entry.size - (copy?.copied ?? 0) >= room.followers.step,
                copy != nil || room.followers.enter()
            else { return (false, false) }
            record.following.isRunning = true
            return (true, copy == nil)
        }
        if begins { ThreadPool.shared.submit { self.catchUp(isFirst: isFirst) } }
    }

    /// The copy, when it can be gone on with. Whoever takes it finishes or discards it.
    func takeFollowingCopy() -> StagedCopy? {
        let copy = record.withLock { record in
            defer { record.following.copy = nil }
            return record.following.copy
        }
        if copy != nil { room.followers.leave() }
        return copy
    }

    /// What is there cannot be the beginning of what will be sent. Never waits for the copying.
    func stopFollowing() {
        record.withLock { $0.following.isInOrder = false }
        guard let copy = takeFollowingCopy() else { return }
        ThreadPool.shared.submit { copy.discard() }
    }

    private func catchUp(isFirst: Bool) {
        defer { record.withLock { $0.following.isRunning = false } }
        do {
            let known = isFirst ? try beginFollowing() : record.withLock { $0.following.copy }
            guard let copy = known else { return }
            while let (file, end) = nextStep(of: copy) {
                try copy.append(from: file, to: end) { self.isFollowed(by: copy) }
                copy.beginWritingBack()
            }
        } catch {
            // Then it is copied at the end, where a full disk or a damaged draft is told.
            stopFollowing()
        }
    }

    private func beginFollowing() throws -> StagedCopy? {
        let copy: StagedCopy
        do {
            copy = try StagedCopy(in: room.staging)
        } catch {
            room.followers.leave()
            throw error
        }
        let isWanted = record.withLock { record in
            guard record.following.isInOrder, record.phase == .draft else { return false }
            record.following.copy = copy
            return true
        }
        if !isWanted {
            room.followers.leave()
            copy.discard()
        }
        return isWanted ? copy : nil
    }

    /// Whole blocks only: the last one is sealed anew by the next write.
    private func nextStep(of copy: StagedCopy) -> (SealedFile, end: UInt64)? {
        record.withLock { record in
            let block = UInt64(SealedFile.blockSize)
            let end = record.entry.size / block * block
            guard record.following.copy === copy, let file = record.file,
                end >= copy.copied + room.followers.step
            else { return nil }
            return (file, min(end, copy.copied + 8 * room.followers.step))
        }
    }

    private func isFollowed(by copy: StagedCopy) -> Bool {
        record.withLock { $0.following.copy === copy }
    }
}

/// Which drafts are copied along, and how many at once: each holds two descriptors and half a MiB.
final class Followers: Sendable {
    /// Bytes of a draft from which on it is; a shorter one is copied in no time at the end.
    let shortest: UInt64
    /// Bytes that the copy may lag behind.
    let step: UInt64
    private let free: Lock<Int>

    init(most: Int = 4, shortest: UInt64 = 4 << 20, step: UInt64 = 1 << 20) {
        self.shortest = shortest
        self.step = step
        free = Lock(most)
    }

    /// False when there is no place.
    func enter() -> Bool {
        free.withLock { free in
            guard free > 0 else { return false }
            free -= 1
            return true
        }
    }

    func leave() { free.withLock { $0 += 1 } }
}
