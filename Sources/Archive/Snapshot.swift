import Base
import ChatCore
import Cryptography
import EmbeddedCore
import Glibc
import KeySlots
import OfficialCore
import Outbox
import Posix
import Store

/// A consistent copy of a data directory in use: its databases at one moment (`DatabaseMoment`), sealed with a new key,
/// and hard links to the files that they name. Stored in the directory's folder `export`, which is deleted at the end,
/// also after errors. After a kill, a later use of the directory deletes it. All calls block.
public final class Snapshot {
    /// A missing or incomplete file, as a path in the archive, and the reason.
    public struct Missing: Hashable, Sendable {
        public let path: String
        public let sentence: String
    }

    private let directory: DataDirectory
    private let folder: PrivateFolder
    private let key: SecretBytes
    private let goOn: () throws -> Void
    /// Held for the life of this object. Changes of the key slots lock the folder itself.
    private let lock: OpenFile
    private var files: HeldFiles
    private var named: Set<String> = []
    /// The databases except the shared one.
    private var parts: [String] = []
    private var arguments: [String: FileArguments] = [:]
    private var drafts: [String: SpooledFile] = [:]
    public private(set) var missing: [Missing] = []

    /// - Parameters:
    ///   - selection: The selection of `DirectoryCopy`. It excludes drafts, links, rules and the names given by mounts.
    ///   - passphrase: Unlocks the copy.
    ///   - cost: The derivation cost of the passphrase.
    ///   - goOn: Called between files. An error ends the snapshot.
    /// - Throws: `ArchiveError`: `.noSpace`, `.file`; the errors of `goOn`; `ChatError`, `KeySlotsError` and other
    ///   errors of the copied parts.
    public convenience init(
        of directory: DataDirectory, only selection: (profile: Profile, chats: [ChatReference])? = nil,
        passphrase: SecretBytes, cost: Argon2id.Cost = .usual, goOn: @escaping () throws -> Void = {}
    ) throws {
        try self.init(
            of: directory, only: selection, passphrase: passphrase, cost: cost, goOn: goOn, afterMoment: {})
    }

    /// - Parameter afterMoment: For tests: runs between the snapshot and the copies.
    init(
        of directory: DataDirectory, only selection: (profile: Profile, chats: [ChatReference])?,
        passphrase: SecretBytes, cost: Argon2id.Cost, goOn: @escaping () throws -> Void = {},
        afterMoment: () throws -> Void
    ) throws {
        self.directory = directory
        self.goOn = goOn
        key = DataKey.random()
        (folder, lock) = try Self.makeFolder(directory.path + "/" + ExportFolder.name)
        files = HeldFiles(of: directory.path, in: folder)
        // From here on `deinit` cleans up after errors.
        let slots = try KeySlots(key, for: .passphrase(passphrase), at: SystemWallClock().now(), cost: cost)
        try KeySlotsFile(path: path(ArchivedFile.keys)).create(slots)
        let sources = { try Self.databases(of: directory) }
        // Link most files before the snapshot, so that few remain during it.
        try files.holdAll()
        try goOn()
        let moment = try DatabaseMoment(of: sources, key: directory.key) {
            try files.holdAll()
        }
        try afterMoment()
        let copy = try DirectoryCopy(
            of: directory, at: moment, path: path(ArchivedFile.database), key: key, only: selection)
        for file in try NamedFile.all(of: copy) { try take(file) }
        if selection == nil {
            for profile in try copy.profiles() { try take(profile, moment) }
            for core in try directory.officialFolders() { try take(core, moment) }
            try copy.setParts(parts)
        }
        files.keepOnly(named)
    }

    deinit { try? folder.remove(lock: ExportFolder.lockFile) }

    /// Returns the folder, emptied and locked for this process.
    private static func makeFolder(_ path: String) throws -> (PrivateFolder, OpenFile) {
        do {
            let folder = try PrivateFolder(path, purpose: ExportFolder.purpose)
            let lock = try OpenFile(
                ExportFolder.lockFile, flags: O_RDWR | O_CREAT | O_NOFOLLOW, in: folder.directory)
            guard try lock.tryLock() else {
                throw ArchiveError(
                    .file, "Another export of this data directory is running; wait until it ends.")
            }
            // Left by a killed process.
            try PrivateFolder.removeContents(
                of: folder.directory, keeping: [PrivateFolder.marker, ExportFolder.lockFile])
            return (folder, lock)
        } catch let error as SystemError where error.isFullDisk {
            // Delete only files that this export began. If that fails, the next export does it; report the full disk.
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

    /// Returns all existing databases, the shared one first.
    private static func databases(of directory: DataDirectory) throws(SystemError) -> [String] {
        let names = try PrivateFolder.names(at: directory.path + "/profiles")
        var own = names.flatMap { name in ProfileFolders.databases.map { "profiles/\(name)/\($0)" } }
        for core in try OfficialFolder.all(in: directory.path) {
            own.append("\(core.name)/\(OfficialFolder.approvals)")
            for profile in core.profiles {
                own += OfficialFolder.databases.map { "\(core.name)/profile-\(profile)/\($0)" }
            }
        }
        let known = own.filter { name in EntryName(name).map(ArchivedFile.isKnown) ?? false }
        return [directory.databasePath]
            + known.map { "\(directory.path)/\($0)" }.filter { access($0, F_OK) == 0 }
    }

    /// Copies the profile's files besides the shared database.
    private func take(_ profile: Profile, _ moment: DatabaseMoment) throws {
        let own = "profiles/\(profile.id)"
        for name in ProfileFolders.databases { try takeDatabase("\(own)/\(name)", moment) }
        for file in try NamedFile.links(of: profile.id, own, in: folder.path, key: key) { try take(file) }
        try takeDrafts(own)
    }

    /// Copies the files next to an official core.
    private func take(_ core: OfficialFolder, _ moment: DatabaseMoment) throws {
        try takeDatabase("\(core.name)/\(OfficialFolder.approvals)", moment)
        for profile in core.profiles {
            let own = "\(core.name)/profile-\(profile)"
            for name in OfficialFolder.databases { try takeDatabase("\(own)/\(name)", moment) }
            for file in try NamedFile.official(of: profile, own, in: folder.path, key: key) {
                try take(file)
            }
            if access(path(own + "/index.sqlite"), F_OK) == 0 {
                try OfficialIndexCopy.detach(indexAt: path(own + "/index.sqlite"), key: key)
            }
            try takeDrafts(own)
        }
    }

    private func takeDatabase(_ name: String, _ moment: DatabaseMoment) throws {
        try goOn()
        guard moment.has("\(directory.path)/\(name)") else { return }
        try files.makeFolders(to: name)
        try moment.copy("\(directory.path)/\(name)", to: path(name), key: key)
        parts.append(name)
    }

    private func takeDrafts(_ own: String) throws {
        // These files are optional.
        for name in ["\(own)/pinned", "\(own)/unfinished"] where try files.hold(name) == nil {
            named.insert(name)
        }
        let journal = path(own + "/outbox/journal.sqlite")
        guard access(journal, F_OK) == 0 else { return }
        for (file, isClosed) in try OutboxCopy.recover(journalAt: journal, key: key) {
            for name in OutboxCopy.names(of: file) {
                let spooled = "\(own)/outbox/spool/\(name)"
                // A draft has one or two files.
                if try files.hold(spooled) == nil { named.insert(spooled) }
            }
            // The writer of an open draft may still be writing to it.
            if isClosed { drafts["\(own)/outbox/spool/\(file.name)"] = file }
        }
    }

    private func take(_ file: NamedFile) throws {
        guard named.insert(file.name).inserted else { return }
        try goOn()
        if let error = try files.hold(file.name, from: file.source) {
            missing.append(Missing(path: file.name, sentence: error.sentence))
            return
        }
        // A row without a key opens nothing.
        arguments[file.name] = file.arguments ?? FileArguments(key: [], nonce: [])
    }

    // MARK: - Writing

    /// Returns the files, databases first.
    private func entries() throws -> [(name: EntryName, size: UInt64)] {
        var found: [(name: EntryName, size: UInt64)] = []
        func walk(_ folder: OpenFile, _ prefix: String) throws {
            for name in try PrivateFolder.names(in: folder) {
                var status = stat()
                // Skipping an unreadable file would lose it silently.
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

    /// Writes the snapshot as a ZIP file. Durable when it returns.
    /// - Parameters:
    ///   - file: An empty file, open for writing.
    ///   - program: The program's name and version, for people.
    ///   - progress: Receives bytes done and in total. Called often.
    /// - Throws: `ArchiveError`; the errors of `goOn`, which is also called during a file.
    public func write(
        to file: OpenFile, program: String, progress: (_ done: UInt64, _ total: UInt64) -> Void
    ) throws {
        let writer = try ArchiveWriter(to: file, created: SystemWallClock().now().seconds)
        let entries = try entries()
        let total = entries.reduce(0) { $0 + $1.size }
        var done: UInt64 = 0
        for entry in entries {
            let source = try OpenFile(path(entry.name.text), flags: O_RDONLY | O_NOFOLLOW)
            let problem = draftProblem(entry.name.text)
            let condition = try writer.add(
                source, as: entry.name, arguments: arguments[entry.name.text], isDamaged: problem != nil
            ) { count in
                done += count
                try goOn()
                progress(min(done, total), total)
            }
            switch condition {
            case .whole: continue
            case .damaged:
                missing.append(Missing(path: entry.name.text, sentence: problem ?? Self.damaged))
            case .incomplete:
                missing.append(
                    Missing(path: entry.name.text, sentence: "The disk cannot read all of it."))
            }
        }
        try writer.finish(program: program, key: key)
    }

    private static let damaged =
        "It is damaged: its tag is wrong. The archive contains it, marked as damaged."

    /// Returns the problem of a draft's bytes, or nil if there is none or the file is no draft.
    private func draftProblem(_ name: String) -> String? {
        guard let draft = drafts[name] else { return nil }
        do throws(CryptographyError) {
            try draft.examine(in: path(name.parentPath)) { _ in }
            return nil
        } catch {
            return error.sentence
        }
    }
}
