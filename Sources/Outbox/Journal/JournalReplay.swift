import Base
import Cryptography
import Glibc
import Posix

/// Restores drafts of earlier processes from the journal. Drafts that were open are recovered, and so are
/// closed ones that may have lost bytes in a power cut. Blocks.
struct JournalReplay {
    let context: DraftContext

    /// - Throws: I/O and database errors. Needed files are not deleted then.
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
        let damaged = Set(machines.filter { !restore($0) }.map(\.record.id))
        // Makes names of unsynchronised files durable before the rows do.
        if !recovered.isEmpty { try context.spool.synchronise() }
        try context.journal.apply(recovered, removing: dropped)
        try context.spool.sweep(keeping: Set(machines.filter { !$0.isRemoved }.map(\.record.spool)))
        try context.staging.sweep(
            keeping: Set(machines.compactMap { $0.phase.staged?.folder }),
            sendsBefore: context.clock.now().advanced(by: .seconds(-86_400)))
        return machines.map { machine in
            Draft(restoring: machine, mayBeDamaged: damaged.contains(machine.record.id), context: context)
        }
    }

    /// Returns a row, as open if it says complete but the spool file is marked.
    private func trusted(_ row: Journal.Entry) -> Journal.Entry {
        guard row.state == .closed, context.spool.isMarked(row.record.spool) else { return row }
        return Journal.Entry(row.record, .open)
    }

    /// Restores bytes that a power cut damaged in the spool from the copy for the core, which was synchronised. Programs
    /// read the spool until the core has the file, and edit it if they take the draft back.
    /// - Returns: False if the bytes may be damaged and no copy is left, because the core may have taken it. They stay,
    ///   because the draft's fate is not known yet.
    private func restore(_ machine: DraftMachine) -> Bool {
        let record = machine.record
        switch machine.phase {
        case .queued, .sending, .sent, .failed, .unsure: break
        case .writing, .written, .quiet, .local, .staging, .acknowledged, .recovered, .withdrawn, .removed:
            return true
        }
        guard !record.isTrusted(in: context.boot) else { return true }
        guard let staged = machine.phase.staged else { return false }
        do {
            let file = try OpenFile(context.staging.path(of: staged), flags: O_RDONLY)
            let copy = try CryptoFileReader(file: file, arguments: staged.arguments)
            // A copy without metadata is another file.
            guard copy.size == record.size else { return false }
            if try hasBytes(of: copy, record) { return true }
            try context.spool.replace(record.spool, key: record.key) { file in
                var size: UInt64 = 0
                try copy.decrypt { piece throws(CryptographyError) in
                    try file.write(piece, at: size)
                    size += UInt64(piece.count)
                }
            }
            return true
        } catch let error as SystemError where error.code == ENOENT {
            return false
        } catch {
            context.log.notice("draft not restored: error=\(sentence(of: error))")
            return false
        }
    }

    /// Compares the spool file with a copy. Its own tags do not suffice: lost blocks read as zeros, like a hole.
    private func hasBytes(of copy: CryptoFileReader, _ record: DraftRecord) throws -> Bool {
        guard let file = try? context.spool.open(record.spool, key: record.key), file.size == record.size
        else { return false }
        var (offset, isEqual) = (UInt64(0), true)
        try copy.decrypt { piece throws(CryptographyError) in
            guard isEqual else { return }
            let found = [UInt8](unsafeUninitializedCapacity: piece.count) { buffer, count in
                count = (try? file.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)) ?? 0
            }
            isEqual = found.withUnsafeBytes { found in
                guard found.count == piece.count else { return false }
                guard let found = found.baseAddress, let bytes = piece.baseAddress else { return true }
                return memcmp(found, bytes, piece.count) == 0
            }
            offset += UInt64(piece.count)
        }
        return isEqual
    }

    /// Returns the bytes of an unfinished draft and makes them durable; 0 only if its file does not exist.
    private func spooledSize(of entry: Journal.Entry) -> Result<UInt64, OutboxError> {
        do {
            let file = try context.spool.open(entry.record.spool, key: entry.record.key)
            // For an already recovered draft, a damaged end is damage.
            if entry.state != .recovered { try file.dropUnfinishedEnd() }
            if file.size > 0 { try file.synchronise() }
            return .success(file.size)
        } catch let error as SystemError where error.code == ENOENT {
            return .success(0)
        } catch {
            let error = OutboxError(beneath: error)
            context.log.warning("unfinished draft not readable: error=\(error.sentence)")
            return .failure(error)
        }
    }
}
