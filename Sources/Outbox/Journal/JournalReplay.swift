import Base
import Cryptography
import Glibc
import Posix

/// What a new process makes of the journal: the drafts of all earlier ones. What was being written when the process
/// stopped is recovered; so is what was closed before a power cut that may have taken bytes of it. Blocks.
struct JournalReplay {
    let context: DraftContext

    /// - Throws: what lies beneath; then nothing was removed that is still needed.
    func drafts() throws -> [Draft] {
        var machines: [DraftMachine] = []
        var (recovered, dropped): ([Journal.Entry], [Int64]) = ([], [])
        for row in try context.journal.entries() {
            let entry = trusted(row)
            switch DraftRestoration(of: entry, at: context.moment, spooled: { spooledSize(of: entry) })
            {
            case .kept(let machine): machines.append(machine)
            case .recovered(let machine, let changed):
                machines.append(machine)
                recovered.append(changed)
            case .dropped: dropped.append(entry.record.id)
            }
        }
        // The names of what was never synchronised; the rows say that it is there.
        if !recovered.isEmpty { try context.spool.synchronise() }
        try context.journal.apply(recovered, removing: dropped)
        try context.spool.sweep(keeping: Set(machines.filter { !$0.isRemoved }.map(\.record.spool)))
        try context.staging.sweep(
            keeping: Set(machines.compactMap { $0.phase.staged?.folder }),
            sendsBefore: context.clock.now().advanced(by: .seconds(-86_400)))
        return machines.map { Draft(restoring: $0, context: context) }
    }

    /// What a row says, but for one that says "complete" because a later one could not be written.
    private func trusted(_ row: Journal.Entry) -> Journal.Entry {
        guard row.state == .closed, context.spool.isMarked(row.record.spool) else { return row }
        return Journal.Entry(row.record, .open)
    }

    /// Bytes that an unfinished draft has, 0 when its file is surely not there. They are durable from here on.
    private func spooledSize(of entry: Journal.Entry) -> Result<UInt64, OutboxError> {
        do {
            let file = try context.spool.open(entry.record.spool, key: entry.record.key)
            // Of what was recovered before, a damaged end is damage.
            if entry.state != .recovered { try file.dropUnfinishedEnd() }
            if file.size > 0 { try file.synchronise() }
            return .success(file.size)
        } catch let error as SystemError where error.code == ENOENT {
            return .success(0)
        } catch {
            let error = OutboxError(beneath: error)
            context.log.warning("an unfinished draft cannot be read at present: \(error.sentence)")
            return .failure(error)
        }
    }
}
