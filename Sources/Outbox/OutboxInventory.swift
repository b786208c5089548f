import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// What rows and disk have of an outbox, for who compares both: also while another process has it open. All calls
/// block.
public struct OutboxInventory: Sendable {
    /// A draft as its row has it.
    public struct Entry: Sendable {
        public let chat: ChatReference
        /// As its writer wrote it.
        public let name: [UInt8]
        /// Bytes of plaintext.
        public let size: UInt64
        /// It is still to be read from its file in the spool, and that is not there.
        public let lacksBytes: Bool
        /// Its bytes in the spool, where nobody writes into them and the copy for the core is not made yet.
        public let spooled: SpooledFile?
        /// The copy for the core, where there is one.
        public let staged: FileSourceLocation?
    }

    /// Those that are not sent yet, oldest first.
    public let drafts: [Entry]
    /// Files in the spool that no row names, by their names there.
    public let strays: [String]
    /// The folder of the spool. Absolute.
    public let spoolFolder: String

    /// - Parameters:
    ///   - path: the outbox's own folder; where it is missing nothing is made.
    ///   - key: with which its journal is encrypted; nil: not.
    ///   - stagingFolder: of the core.
    /// - Throws: `OutboxError`.
    public init(folder path: String, key: SecretBytes? = nil, stagingFolder: String) throws(OutboxError) {
        spoolFolder = path + "/spool"
        guard access(path + "/journal.sqlite", F_OK) == 0 else {
            (drafts, strays) = ([], [])
            return
        }
        let folder = spoolFolder
        (drafts, strays) = try described {
            // The folder first, and what is missing is looked for once more behind the rows: a draft has its file
            // before its row, and loses it after.
            let names = try PrivateFolder.names(at: folder)
            let journal = try Journal(path: path + "/journal.sqlite", key: key, random: SystemRandomSource())
            defer { journal.close() }
            let entries = try journal.entries()
            let named = Set(entries.map(\.record.spool))
            let strays = names.filter { !named.contains($0) && !named.contains(Spool.first(of: $0)) }
            let missing = entries.filter {
                Self.needsSpool($0) && access(folder + "/" + $0.record.spool, F_OK) != 0
            }
            let still =
                missing.isEmpty ? [] : Set(try journal.entries().filter(Self.needsSpool).map(\.record.id))
            let lacking = Set(missing.map(\.record.id)).intersection(still)
            return (entries.compactMap { Self.entry($0, stagingFolder, lacking) }, strays)
        }
    }

    private static func needsSpool(_ entry: Journal.Entry) -> Bool {
        switch entry.state {
        case .open, .closed, .recovered: entry.record.size > 0
        case .queued, .failed, .unsure, .sent, .withdrawn: false
        }
    }

    private static func entry(
        _ entry: Journal.Entry, _ stagingFolder: String, _ lacking: Set<Int64>
    ) -> Entry? {
        switch entry.state {
        case .sent, .withdrawn: return nil
        case .open, .closed, .queued, .failed, .unsure, .recovered: break
        }
        let staged = entry.state.staged.map { staged in
            FileSourceLocation(
                path: "\(stagingFolder)/\(staged.folder)/\(staged.fileName)", arguments: staged.arguments)
        }
        let spooled =
            switch entry.state {
            case .closed, .recovered: entry.record.size > 0 && !lacking.contains(entry.record.id)
            default: false
            }
        return Entry(
            chat: entry.record.chat, name: entry.record.name, size: entry.record.size,
            lacksBytes: lacking.contains(entry.record.id),
            spooled: spooled ? SpooledFile(entry.record) : nil, staged: staged)
    }
}
