import Base
import Cryptography

/// Converts the copy of an outbox. The original outbox may still send its drafts, so the copy sends none:
/// unsent drafts become recovered, for the user to decide. Blocks.
public enum OutboxCopy {
    /// Converts the copy of a journal.
    ///
    /// - Parameters:
    ///   - path: The copied journal, which no other process has open.
    ///   - key: Encryption key; nil if not encrypted.
    /// - Returns: The spool files that belong to it, and whether each was closed.
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
                // An unfinished archive is dropped, because its parts are kept.
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

    /// Names of a draft's one or two files in the spool.
    public static func names(of file: SpooledFile) -> [String] { Spool.files(of: file.name) }

    /// Returns the spooled drafts of a copied journal.
    /// - Throws: `OutboxError`.
    public static func files(journalAt path: String, key: SecretBytes?) throws(OutboxError) -> [SpooledFile] {
        try described {
            let journal = try Journal(path: path, key: key, random: SystemRandomSource())
            defer { journal.close() }
            return try journal.entries().map { SpooledFile($0.record) }
        }
    }
}
