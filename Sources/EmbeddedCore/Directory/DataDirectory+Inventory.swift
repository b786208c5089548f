import ChatCore
import CoreServices
import Glibc
import Posix
import XFTP

/// A profile's rows and files, for verification. Works while another process holds the profile and changes
/// them. All methods block.
extension DataDirectory {
    /// Returns up to `count` items of a chat older than `before`, newest first.
    /// - Throws: `.noSuchChat`, `.storage`.
    public func items(
        of chat: ChatReference, of profile: Profile, before: ItemID?, count: Int
    ) throws(ChatError) -> [ChatItem] {
        try read { tables in
            let id = try tables.chats.id(of: chat, of: profile.id)
            return try self.tables(of: profile, tables).items.items(in: id, before: before, count: count)
        }
    }

    /// Returns a file's current item; nil without one.
    /// - Throws: `.storage`.
    public func item(of file: FileID, of profile: Profile) throws(ChatError) -> ChatItem? {
        try read { try self.tables(of: profile, $0).items.item(of: file) }
    }

    /// Returns the SHA-512 that the sender described for a file kept as it came; nil without a description.
    /// - Throws: `.storage`.
    public func describedDigest(of file: FileID, of profile: Profile) throws(ChatError) -> [UInt8]? {
        let found = try read { try self.tables(of: profile, $0).downloads.description(of: file) }
        return found.flatMap { try? FileDescription(parsing: $0.text).digest }
    }

    /// Returns the names of CryptoFiles without a row. If another process holds the profile, some may be
    /// about to get one.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func strayFiles(of profile: Profile) throws(ChatError) -> [String] {
        try wrapping {
            // List the folder first: a new file gets its name before its row.
            let names = try profileFolders(of: profile).names()
            return try store.read { tables in
                let files = self.tables(of: profile, tables).files
                return try names.filter { try !files.hasStored($0) }
            }
        }
    }

    /// Locks the profile for this process while `body` runs.
    /// - Throws: `ChatError` `.profileInUse` naming the holder; `SystemError`; errors of `body`.
    public func holding<Result>(_ profile: Profile, _ body: () throws -> Result) throws -> Result {
        let folders = try profileFolders(of: profile)
        let lock = try ProcessLock.takeProfile(
            OpenFile(folders.path + "/lock", flags: O_RDWR | O_CREAT), mountpoint: nil)
        defer { lock.release() }
        return try body()
    }

    /// Locks all profiles of an official core while `body` runs.
    public func holding<Result>(_ core: OfficialFolder, _ body: () throws -> Result) throws -> Result {
        let lock = try ProcessLock.takeProfile(
            OpenFile("\(path)/\(core.name)/lock", flags: O_RDWR | O_CREAT | O_NOFOLLOW), mountpoint: nil)
        defer { lock.release() }
        return try body()
    }

    private func tables(of profile: Profile, _ tables: DirectoryTables) -> ProfileTables {
        tables.tables(
            of: profile.id,
            ItemTable.FileContext(filesPath: "\(path)/profiles/\(profile.id)/files", progress: [:]))
    }
}
