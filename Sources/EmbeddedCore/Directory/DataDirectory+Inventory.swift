import ChatCore
import CoreServices
import Glibc
import Posix

/// What rows and disk have of a profile, for who compares both: also while another process has the profile, which may
/// change either meanwhile. All methods block.
extension DataDirectory {
    /// Up to `count` items of a chat, newest first, older than `before`.
    /// - Throws: `.noSuchChat`, `.storage`.
    public func items(
        of chat: ChatReference, of profile: Profile, before: ItemID?, count: Int
    ) throws(ChatError) -> [ChatItem] {
        try wrapping {
            try store.read { tables in
                let id = try tables.chats.id(of: chat, of: profile.id)
                return try self.tables(of: profile, tables).items.items(in: id, before: before, count: count)
            }
        }
    }

    /// The item of a file as it is now; nil when there is none any more.
    /// - Throws: `.storage`.
    public func item(of file: FileID, of profile: Profile) throws(ChatError) -> ChatItem? {
        try wrapping { try store.read { try self.tables(of: profile, $0).items.item(of: file) } }
    }

    /// CryptoFiles in the profile's folder that no row names, by their names there. While another process has the
    /// profile some of them may get their row in a moment.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func strayFiles(of profile: Profile) throws(ChatError) -> [String] {
        try wrapping {
            // The folder first: what is kept meanwhile has its name before its row.
            let names = try profileFolders(of: profile).names()
            return try store.read { tables in
                let files = self.tables(of: profile, tables).files
                return try names.filter { try !files.hasStored($0) }
            }
        }
    }

    /// Keeps the profile to this process while `body` runs.
    /// - Throws: `ChatError` `.profileInUse` naming the process that has it; `SystemError`; what `body` throws.
    public func holding<Result>(_ profile: Profile, _ body: () throws -> Result) throws -> Result {
        let folders = try profileFolders(of: profile)
        let lock = try ProcessLock.takeProfile(
            OpenFile(folders.path + "/lock", flags: O_RDWR | O_CREAT), mountpoint: nil)
        defer { lock.release() }
        return try body()
    }

    /// The same for all profiles of an official core, which one process has at a time.
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
