import Base
import ChatCore
import Cryptography
import EmbeddedCore
import Glibc
import KeySlots
import Links
import Outbox
import Posix
import Store

/// One moment of a data directory, whoever goes on using it: all its databases as they were then (`DatabaseMoment`),
/// copied and sealed under a key of their own, and second names for the files that they name. Lies in the folder
/// `export` of the directory, which goes in the end, also after errors, and is emptied by the next export where a
/// process was killed. All calls block.
public final class Snapshot {
    /// What is not in it, as a path below the data directory, and why.
    public struct Missing: Hashable, Sendable {
        public let path: String
        public let sentence: String
    }

    private let directory: DataDirectory
    private let folder: PrivateFolder
    private let key: SecretBytes
    /// Held for as long as this lives. The folder itself is locked by who writes the ways to unlock.
    private let lock: OpenFile
    private static let lockName = ".lock"
    private var files: HeldFiles
    private var named: Set<String> = []
    public private(set) var missing: [Missing] = []

    /// - Parameters:
    ///   - selection: as of `DirectoryCopy`. Drafts, links, rules and the names that mounts gave are then left out.
    ///   - passphrase: unlocks the copy.
    ///   - cost: of each try to unlock it.
    /// - Throws: `ArchiveError`: `.noSpace`, `.file`; `ChatError`, `KeySlotsError` and others of what is copied.
    public convenience init(
        of directory: DataDirectory, only selection: (profile: Profile, chats: [ChatReference])? = nil,
        passphrase: SecretBytes, cost: Argon2id.Cost = .usual
    ) throws {
        try self.init(of: directory, only: selection, passphrase: passphrase, cost: cost, afterMoment: {})
    }

    /// - Parameter afterMoment: for tests: others go on, and nothing was copied yet.
    init(
        of directory: DataDirectory, only selection: (profile: Profile, chats: [ChatReference])?,
        passphrase: SecretBytes, cost: Argon2id.Cost, afterMoment: () throws -> Void
    ) throws {
        self.directory = directory
        key = DataKey.random()
        (folder, lock) = try Self.makeFolder(directory.path + "/export")
        files = HeldFiles(of: directory.path, in: folder)
        // From here on what fails ends in `deinit`.
        let slots = try KeySlots(key, for: .passphrase(passphrase), at: SystemWallClock().now(), cost: cost)
        try KeySlotsFile(path: path(ArchivedFile.keys)).create(slots)
        let sources = { try Self.databases(of: directory) }
        // Before the moment, so that at the moment there are only those that have just come.
        try files.holdAll()
        let moment = try DatabaseMoment(of: sources, key: directory.key) {
            try files.holdAll()
        }
        try afterMoment()
        let copy = try DirectoryCopy(
            of: directory, at: moment, path: path(ArchivedFile.database), key: key, only: selection)
        for file in try copy.files() { try take(file) }
        if selection == nil {
            for profile in try copy.profiles() { try take(profile, moment) }
        }
        files.keepOnly(named)
    }

    deinit { try? folder.remove() }

    /// The folder, empty, for this process alone.
    private static func makeFolder(_ path: String) throws -> (PrivateFolder, OpenFile) {
        do {
            let folder = try PrivateFolder(path, purpose: "chatfs export")
            let lock = try OpenFile(lockName, flags: O_RDWR | O_CREAT | O_NOFOLLOW, in: folder.directory)
            guard try lock.tryLock() else {
                throw ArchiveError(
                    .file, "Another export of this data directory is going on: wait for its end.")
            }
            // Of one that was killed.
            try PrivateFolder.removeContents(of: folder.directory, keeping: [PrivateFolder.marker, lockName])
            return (folder, lock)
        } catch let error as SystemError where error.isFullDisk {
            // Only what was begun of it; nobody else comes further. What cannot be removed either the next export does,
            // and the full disk is what is told.
            if let folder = try? OpenFile(path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW),
                (try? PrivateFolder.names(in: folder))?.allSatisfy({ $0.hasPrefix(".") }) == true
            {
                try? PrivateFolder.removeContents(of: folder, keeping: [])
                rmdir(path)
            }
            throw error
        }
    }

    private func path(_ name: String) -> String { folder.path + "/" + name }

    /// All that there are, the shared one first.
    private static func databases(of directory: DataDirectory) throws(SystemError) -> [String] {
        let names = try PrivateFolder.names(at: directory.path + "/profiles")
        let own = names.flatMap { name in ProfileFolders.databases.map { "profiles/\(name)/\($0)" } }
        let known = own.filter { name in EntryName(name).map(ArchivedFile.isKnown) ?? false }
        return [directory.databasePath]
            + known.map { "\(directory.path)/\($0)" }.filter { access($0, F_OK) == 0 }
    }

    /// What lies beside the directory's own database.
    private func take(_ profile: Profile, _ moment: DatabaseMoment) throws {
        let own = "profiles/\(profile.id)"
        for name in ProfileFolders.databases where moment.has("\(directory.path)/\(own)/\(name)") {
            try files.makeFolders(to: "\(own)/\(name)")
            try moment.copy("\(directory.path)/\(own)/\(name)", to: path("\(own)/\(name)"), key: key)
        }
        let links = try LinkInventory(
            path: path(own + "/links.sqlite"), key: key, stagingFolder: "\(directory.path)/\(own)/staging",
            profile: profile)
        for item in links.items {
            guard let name = item.file?.source?.path.lastPathName else { continue }
            try take("\(own)/staging/links-\(profile.id)/\(name)")
        }
        // There may be none.
        for name in ["\(own)/pinned", "\(own)/unfinished"] where try files.hold(name) == nil {
            named.insert(name)
        }
        let journal = path(own + "/outbox/journal.sqlite")
        guard access(journal, F_OK) == 0 else { return }
        for name in try OutboxCopy.recover(journalAt: journal, key: key) {
            let spooled = "\(own)/outbox/spool/\(name)"
            // A draft has one file or two.
            if try files.hold(spooled) == nil { named.insert(spooled) }
        }
    }

    private func take(_ name: String) throws {
        guard named.insert(name).inserted, let error = try files.hold(name) else { return }
        missing.append(Missing(path: name, sentence: error.sentence))
    }

    // MARK: - Writing

    /// The files that it has, databases first.
    private func entries() throws -> [(name: EntryName, size: UInt64)] {
        var found: [(name: EntryName, size: UInt64)] = []
        func walk(_ folder: OpenFile, _ prefix: String) throws {
            for name in try PrivateFolder.names(in: folder) {
                var status = stat()
                // Left out, it would be missing without a word.
                try check("look at a file") {
                    fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW)
                }
                if status.st_mode & S_IFMT == S_IFDIR {
                    try walk(
                        OpenFile(name, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW, in: folder),
                        prefix + name + "/")
                } else if let entry = EntryName(prefix + name), ArchivedFile.isKnown(entry) {
                    found.append((entry, UInt64(status.st_size)))
                }
            }
        }
        try walk(folder.directory, "")
        return found.sorted { left, right in
            let ranks = [left, right].map {
                ArchivedFile.isDatabase($0.name) || $0.name.text == ArchivedFile.keys
            }
            return ranks[0] != ranks[1] ? ranks[0] : left.name < right.name
        }
    }

    /// Writes all of it as a ZIP file. Durable when it returns.
    /// - Parameters:
    ///   - file: empty, open for writing.
    ///   - program: what writes, for people.
    ///   - progress: told bytes done of all, often.
    /// - Throws: `ArchiveError`.
    public func write(
        to file: OpenFile, program: String, progress: (_ done: UInt64, _ total: UInt64) -> Void
    ) throws {
        let writer = try ArchiveWriter(to: file, created: SystemWallClock().now().seconds)
        let entries = try entries()
        let total = entries.reduce(0) { $0 + $1.size }
        var done: UInt64 = 0
        for entry in entries {
            let source = try OpenFile(path(entry.name.text), flags: O_RDONLY | O_NOFOLLOW)
            let isWhole = try writer.add(source, as: entry.name) { count in
                done += count
                progress(min(done, total), total)
            }
            if !isWhole {
                missing.append(
                    Missing(path: entry.name.text, sentence: "The disk does not give all of it back."))
            }
        }
        try writer.finish(program: program, key: key)
    }
}
