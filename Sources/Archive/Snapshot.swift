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

/// One moment of a data directory, whoever goes on using it: its databases copied and sealed under a key of their own,
/// and second names for the files that they name, which never change once they are there. Lies in the folder `export`
/// of the directory, which is emptied at the end, and by the next export where a process was killed. All calls block.
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
    private var isOurs = false
    public private(set) var missing: [Missing] = []

    /// - Parameters:
    ///   - selection: as of `DirectoryCopy`. Drafts, links, rules and the names that mounts gave are then left out.
    ///   - passphrase: unlocks the copy.
    ///   - cost: of each try to unlock it.
    /// - Throws: `ArchiveError`: `.noSpace`, `.file`; `ChatError`, `KeySlotsError` and others of what is copied.
    public init(
        of directory: DataDirectory, only selection: (profile: Profile, chats: [ChatReference])? = nil,
        passphrase: SecretBytes, cost: Argon2id.Cost = .usual
    ) throws {
        self.directory = directory
        folder = try PrivateFolder(directory.path + "/export", purpose: "chatfs export")
        key = DataKey.random()
        lock = try OpenFile(Self.lockName, flags: O_RDWR | O_CREAT | O_NOFOLLOW, in: folder.directory)
        guard try lock.tryLock() else {
            throw ArchiveError(.file, "Another export of this data directory is going on: wait for its end.")
        }
        // Of one that was killed.
        try PrivateFolder.removeContents(
            of: folder.directory, keeping: [PrivateFolder.marker, Self.lockName])
        isOurs = true
        let slots = try KeySlots(key, for: .passphrase(passphrase), at: SystemWallClock().now(), cost: cost)
        try KeySlotsFile(path: path(ArchivedFile.keys)).create(slots)
        let copy = try DirectoryCopy(
            of: directory, at: path(ArchivedFile.database), key: key, only: selection)
        for file in try copy.files() { try link(file) }
        if selection == nil {
            for profile in try directory.profiles() { try take(profile) }
        }
    }

    /// Also where `init` throws.
    deinit { if isOurs { try? folder.remove() } }

    private func path(_ name: String) -> String { folder.path + "/" + name }

    /// What lies beside the directory's own database.
    private func take(_ profile: Profile) throws {
        let own = "profiles/\(profile.id)"
        for name in ProfileFolders.databases where access("\(directory.path)/\(own)/\(name)", F_OK) == 0 {
            try makeFolders(to: "\(own)/\(name)")
            try DatabaseCopy.make(
                from: "\(directory.path)/\(own)/\(name)", key: directory.key, to: path("\(own)/\(name)"),
                key: key)
        }
        let staging = try directory.folders(of: profile).staging
        let links = try LinkInventory(
            path: path(own + "/links.sqlite"), key: key, stagingFolder: staging, profile: profile)
        for item in links.items {
            guard let name = item.file?.source?.path.split(separator: "/").last else { continue }
            try link("\(own)/staging/links-\(profile.id)/\(name)")
        }
        let journal = path(own + "/outbox/journal.sqlite")
        guard access(journal, F_OK) == 0 else { return }
        for name in try OutboxCopy.recover(journalAt: journal, key: key) {
            let spooled = "\(own)/outbox/spool/\(name)"
            if access("\(directory.path)/\(spooled)", F_OK) == 0 { try link(spooled) }
        }
    }

    private func makeFolders(to name: String) throws {
        var place = folder.directory
        for part in name.split(separator: "/").dropLast() {
            place = try PrivateFolder.folder(String(part), in: place)
        }
    }

    private var made: Set<Substring> = []

    /// A second name costs nothing, and the bytes stay when the first one goes.
    private func link(_ name: String) throws {
        let parent = name[..<(name.lastIndex(of: "/") ?? name.startIndex)]
        if made.insert(parent).inserted { try makeFolders(to: name) }
        let result = linkat(AT_FDCWD, "\(directory.path)/\(name)", AT_FDCWD, path(name), 0)
        guard result != 0, errno != EEXIST else { return }
        let error = SystemError(code: errno, operation: "read a file")
        if error.isFullDisk { throw error }
        missing.append(Missing(path: name, sentence: error.sentence))
    }

    // MARK: - Writing

    /// The files that it has, databases first.
    private func entries() throws -> [(name: EntryName, size: UInt64)] {
        var found: [(name: EntryName, size: UInt64)] = []
        func walk(_ folder: OpenFile, _ prefix: String) throws {
            for name in try PrivateFolder.names(in: folder) {
                var status = stat()
                guard fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { continue }
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
