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
    /// - Returns: the files in the spool that belong to it, and which of them nobody was writing into.
    /// - Throws: `OutboxError`.
    public static func recover(
        journalAt path: String, key: SecretBytes?
    ) throws(OutboxError) -> [(file: SpooledFile, isClosed: Bool)] {
        try described {
            let journal = try Journal(path: path, key: key, random: SystemRandomSource())
            defer { journal.close() }
            var kept: [Journal.Entry] = []
            var open: Set<Int64> = []
            var gone: [Int64] = []
            for entry in try journal.entries() {
                // The parts of an archive that was being made are there.
                if PartPath(entry.record.name)?.isArchive ?? false {
                    gone.append(entry.record.id)
                    continue
                }
                var record = entry.record
                if case .open = entry.state { open.insert(record.id) }
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
            return kept.map { (SpooledFile($0.record), !open.contains($0.record.id)) }
        }
    }

    /// The names that a draft's bytes may have in the spool: it has one file or two.
    public static func names(of file: SpooledFile) -> [String] { Spool.files(of: file.name) }

    /// The drafts of a journal that was copied, by their bytes in the spool.
    /// - Throws: `OutboxError`.
    public static func files(journalAt path: String, key: SecretBytes?) throws(OutboxError) -> [SpooledFile] {
        try described {
            let journal = try Journal(path: path, key: key, random: SystemRandomSource())
            defer { journal.close() }
            return try journal.entries().map { SpooledFile($0.record) }
        }
    }
}
