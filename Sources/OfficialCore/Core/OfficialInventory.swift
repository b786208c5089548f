import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import Store

/// The rows and files of copies that only ChatFS has, for verification and archives, also during a mount. All
/// calls block.
public struct OfficialInventory: Sendable {
    public let copies: [OfficialCopy]
    /// Absolute paths of copies in the folder without a row.
    public let strays: [String]
    /// The folder in the core's files folder with the copies and the files of links. Absolute.
    public let stagingFolder: String

    /// - Parameters:
    ///   - folder: The profile's folder (`official-HASH/profile-N`). Without an index, none is created.
    ///   - key: Encryption key of the index; nil if not encrypted.
    /// - Throws: `StoreError`, `SystemError`.
    public init(folder: String, key: SecretBytes? = nil) throws {
        // From an archive before the first `open`, else the folder of an earlier version, which did not
        // record it.
        let archived = "\(folder)/\(OfficialIndexCopy.stagingFolder)"
        let usual = access(archived, F_OK) == 0 ? archived : folder.parentPath + "/files/outbox"
        guard access(folder + "/index.sqlite", F_OK) == 0 else {
            (copies, strays, stagingFolder) = ([], [], usual)
            return
        }
        let database = try Database(
            path: folder + "/index.sqlite", migrations: Schema.migrations, key: key, durability: .eventual)
        defer { database.close() }
        let noted = try database.read { try IndexTables($0).place.known() }
        let staging = noted ?? usual
        // The folder first, because a copy's file is created before its row.
        let names = try PrivateFolder.names(at: staging).filter { StagingFolder.file(ofCopy: $0) != nil }
        let copies = try database.read { try IndexTables($0).keptCopies.all(in: staging) }
        let named = Set(copies.map(\.source.path))
        self.copies = copies
        strays = names.map { "\(staging)/\($0)" }.filter { !named.contains($0) }
        stagingFolder = staging
    }
}
