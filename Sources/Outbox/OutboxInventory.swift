import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// The rows and files of an outbox, for verification, also while another process has it open. All calls
/// block.
public struct OutboxInventory: Sendable {
    /// A draft in the journal.
    public struct Entry: Sendable {
        public let chat: ChatReference
        /// The writer's exact bytes.
        public let name: [UInt8]
        /// Bytes of plaintext.
        public let size: UInt64
        /// The spool file is needed but missing.
        public let lacksBytes: Bool
        /// The spooled bytes, if the draft is closed and not yet staged.
        public let spooled: SpooledFile?
        /// The core's copy, if there is one.
        public let staged: FileSourceLocation?
    }

    /// Unsent drafts, oldest first.
    public let drafts: [Entry]
    /// Names of spool files without a row.
    public let strays: [String]
    /// The spool's absolute path.
    public let spoolFolder: String

    /// - Parameters:
    ///   - path: The outbox's own folder. A missing folder is not created.
    ///   - key: Encryption key of the journal; nil if not encrypted.
    ///   - stagingFolder: The core's staging folder.
    /// - Throws: `OutboxError`.
    public init(folder path: String, key: SecretBytes? = nil, stagingFolder: String) throws(OutboxError) {
        spoolFolder = path + "/spool"
        guard access(path + "/journal.sqlite", F_OK) == 0 else {
            (drafts, strays) = ([], [])
            return
        }
        let folder = spoolFolder
        (drafts, strays) = try described {
            // Lists the folder first and checks missing files again after the rows, because a draft's file is
            // created before its row and deleted after it.
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
            case .open, .queued, .sent, .failed, .unsure, .withdrawn: false
            }
        return Entry(
            chat: entry.record.chat, name: entry.record.name, size: entry.record.size,
            lacksBytes: lacking.contains(entry.record.id),
            spooled: spooled ? SpooledFile(entry.record) : nil, staged: staged)
    }
}
