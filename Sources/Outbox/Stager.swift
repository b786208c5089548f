import Base
import ChatCore
import Cryptography
import Media
import Posix

/// Makes closed drafts durable: one pass writes a CryptoFile with a fresh key, which is never rewritten;
/// file and folder are synchronised, then the row of the journal. All calls block.
final class Stager: Sendable {
    private let room: Workroom
    /// Called between the steps; a test stops the world there.
    private let step: @Sendable (OutboxStep) -> Void

    init(room: Workroom, step: @escaping @Sendable (OutboxStep) -> Void) {
        self.room = room
        self.step = step
    }

    struct Outcome {
        var queued: [Draft] = []
        /// Could not be copied at present, with the full disk or another reason that may pass.
        var later: [Draft] = []
    }

    /// Queues those of `drafts` that are still closed and unchanged at the end, with one durable
    /// transaction for all of them.
    func queue(_ drafts: [Draft]) -> Outcome {
        var outcome = Outcome()
        var copies: [(draft: Draft, version: Int, copy: Copy)] = []
        for draft in drafts {
            guard let (entry, version) = draft.beginStaging() else {
                if draft.staysLocal { draft.keepLocal() }
                continue
            }
            do {
                copies.append((draft, version, try copy(draft, entry, version)))
            } catch is StagedCopy.Overtaken where !draft.isStaging(version) {
                continue
            } catch {
                if draft.endStaging(version, problem: OutboxError(beneath: error)) {
                    outcome.later.append(draft)
                }
            }
        }
        do {
            try synchronise(copies.map(\.copy))
        } catch {
            for (draft, version, copy) in copies {
                room.staging.remove(copy.staged)
                if draft.endStaging(version, problem: OutboxError(beneath: error)) {
                    outcome.later.append(draft)
                }
            }
            return outcome
        }
        step(.staged)
        // By rising id, as everywhere where several turns are taken.
        copies.sort { $0.draft.id < $1.draft.id }
        for copy in copies { copy.draft.turn.take() }
        defer { for copy in copies { copy.draft.turn.giveBack() } }
        let (valid, overtaken) = copies.reduce(into: ([(Draft, Journal.Entry)](), [Journal.Staged]())) {
            if let entry = $1.draft.entryToQueue($1.version, $1.copy.staged) {
                $0.0.append(($1.draft, entry))
            } else {
                $0.1.append($1.copy.staged)
            }
        }
        for staged in overtaken { room.staging.remove(staged) }
        guard !valid.isEmpty else { return outcome }
        do {
            try room.staging.synchronise()
            try room.journal.apply(valid.map(\.1), durably: true)
            for (draft, entry) in valid { draft.noteQueued(entry) }
            outcome.queued = valid.map(\.0)
        } catch {
            for (draft, entry) in valid {
                if let staged = entry.staged { room.staging.remove(staged) }
                draft.noteNotQueued(problem: OutboxError(beneath: error))
            }
            outcome.later += valid.map(\.0)
        }
        step(.queued)
        return outcome
    }

    /// A complete CryptoFile, not yet durable.
    private struct Copy {
        var staged: Journal.Staged
        var file: StagedCopy
    }

    /// Waits for the disk once for many small files: each wait is as long as all the rest of a small file.
    private func synchronise(_ copies: [Copy]) throws(SystemError) {
        if copies.count > 2, let any = copies.first { return try any.file.synchroniseFilesystem() }
        for copy in copies { try copy.file.synchronise() }
    }

    private func copy(_ draft: Draft, _ entry: Journal.Entry, _ version: Int) throws -> Copy {
        let copy = try draft.takeFollowingCopy() ?? StagedCopy(in: room.staging)
        do {
            let spooled = try room.spool.open(entry.spool, key: entry.key)
            guard spooled.size == entry.size else {
                throw OutboxError(.damaged, "The draft was damaged on disk: write it again.")
            }
            let kind = try MediaInspection.kind(
                name: entry.name, size: entry.size,
                content: { offset, count in
                    try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                        filled = try spooled.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
                    }
                })
            try copy.append(from: spooled, to: entry.size) { draft.isStaging(version) }
            return Copy(staged: try copy.finish(named: Self.safeName(of: entry), kind: kind), file: copy)
        } catch {
            copy.discard()
            // What a writer does meanwhile shows as a damaged block too.
            throw draft.isStaging(version) ? error : StagedCopy.Overtaken()
        }
    }

    /// The name that the recipients see.
    static func safeName(of entry: Journal.Entry) -> String {
        SafeFileName.make(from: String(decoding: entry.name, as: UTF8.self)) ?? "file-\(entry.id)"
    }
}

/// The moments between which a crash can fall.
enum OutboxStep: Sendable {
    case created
    case staged
    case queued
    case handedOver
    case noted
}
