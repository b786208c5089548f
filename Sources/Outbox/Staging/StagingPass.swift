import Base
import ChatCore
import Cryptography
import Media
import Posix

/// Makes quiet drafts durable: copies each once into a CryptoFile with a fresh key, synchronises file and
/// folder, then writes the row. Blocks.
struct StagingPass: Sendable {
    let context: DraftContext
    let check: CompletionCheck

    struct Outcome {
        var queued: [Draft] = []
        /// Drafts that a full disk or another temporary error prevented.
        var later: [QuietDraft] = []
    }

    /// A complete CryptoFile, not yet durable.
    private struct Copy {
        var draft: Draft
        var attempt: Int
        var staged: StagedFile
        var writer: StagedFileWriter
    }

    /// Queues finished drafts that did not change during the copy, in one durable transaction.
    func queue(_ drafts: [QuietDraft]) -> Outcome {
        var outcome = Outcome()
        var copies = copyAll(drafts, &outcome)
        do {
            try synchronise(copies)
        } catch {
            for copy in copies {
                context.staging.remove(copy.staged)
                stop(copy.draft, copy.attempt, error, &outcome)
            }
            return outcome
        }
        context.step(.staged)
        // Mutexes are always locked by ascending id.
        copies.sort { $0.draft.id < $1.draft.id }
        for copy in copies { copy.draft.mutex.lock() }
        let failure = queue(copies, &outcome)
        for copy in copies { copy.draft.mutex.unlock() }
        if let failure {
            for copy in copies { stop(copy.draft, copy.attempt, failure, &outcome) }
        }
        context.step(.queued)
        return outcome
    }

    /// Called with all mutexes held.
    /// - Returns: The error if no draft was queued.
    private func queue(_ copies: [Copy], _ outcome: inout Outcome) -> (any Error)? {
        var prepared: [PreparedTransition] = []
        for copy in copies {
            if let one = try? copy.draft.prepare(.staged(attempt: copy.attempt, copy.staged)),
                one.reply == .queued
            {
                prepared.append(one)
            } else {
                // A write, rename or removal occurred meanwhile.
                context.staging.remove(copy.staged)
            }
        }
        guard !prepared.isEmpty else { return nil }
        do {
            try context.staging.synchronise()
            try context.perform(prepared)
        } catch {
            for one in prepared {
                if let staged = one.machine.phase.staged { context.staging.remove(staged) }
            }
            return error
        }
        outcome.queued = prepared.map(\.draft)
        return nil
    }

    private func stop(_ draft: Draft, _ attempt: Int, _ error: any Error, _ outcome: inout Outcome) {
        let event = DraftEvent.stagingFailed(attempt: attempt, OutboxError(beneath: error))
        if case .retryStaging(let period) = draft.tell(event) {
            outcome.later.append(QuietDraft(draft: draft, period: period))
        }
    }

    // MARK: - Copies

    private func copyAll(_ drafts: [QuietDraft], _ outcome: inout Outcome) -> [Copy] {
        var copies: [Copy] = []
        for quiet in drafts {
            switch quiet.draft.judge(check.verdict(on: quiet.draft), quiet.period) {
            case .stage(let attempt):
                do {
                    copies.append(try copy(quiet.draft, attempt))
                } catch is StagedFileWriter.Outdated where !quiet.draft.isStaging(attempt) {
                    continue
                } catch {
                    stop(quiet.draft, attempt, error, &outcome)
                }
            case .makeDurable: makeDurable(quiet.draft)
            default: continue
            }
        }
        return copies
    }

    private func copy(_ draft: Draft, _ attempt: Int) throws -> Copy {
        let record = draft.machine.record
        let writer = try draft.earlyCopy.take(size: record.size)
        do {
            let spooled = try context.spool.open(record.spool, key: record.key)
            guard spooled.size == record.size else { throw OutboxError.damaged }
            let kind = try MediaInspection.kind(
                name: record.name, size: record.size,
                content: { offset, count in
                    try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                        filled = try spooled.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
                    }
                })
            try writer.append(from: spooled, to: record.size) { draft.isStaging(attempt) }
            let staged = try writer.finish(kind: kind)
            return Copy(draft: draft, attempt: attempt, staged: staged, writer: writer)
        } catch {
            writer.discard()
            // A concurrent writer may show as a damaged block too.
            throw draft.isStaging(attempt) ? error : StagedFileWriter.Outdated()
        }
    }

    /// Uses one syncfs for many small files, because each fsync takes as long as copying a small file.
    private func synchronise(_ copies: [Copy]) throws(SystemError) {
        if copies.count > 2, let any = copies.first { return try any.writer.synchroniseFilesystem() }
        for copy in copies { try copy.writer.synchronise() }
    }

    /// A local draft stays for days, so it must survive a power cut.
    private func makeDurable(_ draft: Draft) {
        do {
            try draft.synchronise()
        } catch {
            context.log.notice("local draft not synchronised: error=\(error.sentence)")
        }
    }
}
