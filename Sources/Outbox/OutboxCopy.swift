import Base
import Cryptography

/// The copy of an outbox for another place. What was on its way may be sent by the outbox that it was made of, so nothing
/// of a copy is: all that was not sent is recovered there, and its user decides. Blocks.
public enum OutboxCopy {
    /// Changes the copy of a journal so.
    ///
    /// - Parameters:
    ///   - path: of the copied journal, which nobody else has open.
    ///   - key: with which it is encrypted; nil: not.
    /// - Returns: the names of the files in the spool that belong to it.
    /// - Throws: `OutboxError`.
    public static func recover(journalAt path: String, key: SecretBytes?) throws(OutboxError) -> [String] {
        try described {
            let journal = try Journal(path: path, key: key, random: SystemRandomSource())
            defer { journal.close() }
            var kept: [Journal.Entry] = []
            var gone: [Int64] = []
            for entry in try journal.entries() {
                // The parts of an archive that was being made are there.
                if PartPath(entry.record.name)?.isArchive ?? false {
                    gone.append(entry.record.id)
                    continue
                }
                var record = entry.record
                switch entry.state {
                case .sent, .withdrawn:
                    gone.append(record.id)
                    continue
                case .open, .closed, .queued, .failed, .unsure:
                    record.problem =
                        "This file was not sent when it was archived. Copy it into its chat to send it."
                case .recovered: break
                }
                kept.append(Journal.Entry(record, .recovered))
            }
            try journal.apply(kept, removing: gone, durably: true)
            return kept.flatMap { Spool.files(of: $0.record.spool) }
        }
    }
}
