import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import Store

/// What rows and disk have of the copies that only ChatFS has of an official core's files, for who compares or archives
/// both: also while a mount has the profile. All calls block.
public struct OfficialInventory: Sendable {
    public let copies: [OfficialCopy]
    /// Copies in the folder that no row names. Absolute.
    public let strays: [String]
    /// The folder in the core's files folder where the copies and the files of links lie. Absolute.
    public let stagingFolder: String

    /// - Parameters:
    ///   - folder: of the profile (`official-HASH/profile-N`). Where it has no index nothing is made.
    ///   - key: with which the index is encrypted; nil: not.
    /// - Throws: `StoreError`, `SystemError`.
    public init(folder: String, key: SecretBytes? = nil) throws {
        // Out of an archive, until a core is opened; else where an earlier version had it, which did not note it.
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
        // The folder first: what is kept meanwhile has its name before its row.
        let names = try PrivateFolder.names(at: staging).filter { StagingFolder.file(ofCopy: $0) != nil }
        let copies = try database.read { try IndexTables($0).keptCopies.all(in: staging) }
        let named = Set(copies.map(\.source.path))
        self.copies = copies
        strays = names.map { "\(staging)/\($0)" }.filter { !named.contains($0) }
        stagingFolder = staging
    }
}
