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

/// Creates a data directory from an archive. It grows in a folder next to its final place and is renamed when complete,
/// so no process sees a partial directory. An interrupted import continues. All calls block.
public struct Restoration: Sendable {
    private let extraction: Extraction
    private let path: String
    private let key: SecretBytes

    /// The size of the content in bytes.
    public var total: UInt64 { extraction.manifest.total }
    private var unfinished: String { path + ".importing" }

    /// Checks the archive and unlocks it, without writing.
    ///
    /// - Parameters:
    ///   - archive: open for reading.
    ///   - path: of the data directory, which must be missing or an empty folder.
    ///   - passphrase: asked for when all else is as it should be.
    /// - Throws: `ArchiveError`: `.malformed`, `.newerVersion`, `.file` for a place that is taken, `.noLibrary`;
    ///   `KeySlotsError`: `.wrongSecret` and others.
    public init(_ archive: OpenFile, to path: String, passphrase: @autoclosure () throws -> SecretBytes)
        throws
    {
        // A place beside it has the same folder.
        var path = path
        while path.utf8.count > 1, path.endsWithBytes(of: "/") { path.unicodeScalars.removeLast() }
        guard !DataDirectory.exists(path) else {
            throw ArchiveError(
                .file,
                "The data directory exists already; name a new or empty folder with --data."
            )
        }
        try Self.requireReplaceable(path)
        extraction = try Extraction(archive)
        key = try extraction.unlock(with: passphrase())
        self.path = path
    }

    /// The directory gets its place by rename(2), which replaces neither a link nor a mountpoint.
    private static func requireReplaceable(_ path: String) throws(ArchiveError) {
        var (status, parent) = (stat(), stat())
        guard lstat(path, &status) == 0 else { return }
        if status.st_mode & S_IFMT == S_IFLNK {
            throw ArchiveError(
                .file, "The data directory would replace a link; name the folder behind it with --data.")
        }
        if stat(path.parentPath, &parent) == 0, status.st_dev != parent.st_dev {
            throw ArchiveError(
                .file, "The data directory would replace a mountpoint; name a new folder in it with --data.")
        }
    }

    /// Extracts the files, checks the databases and renames the directory.
    ///
    /// - Parameters:
    ///   - isSealed: Whether the databases stay sealed with the archive's key, which its passphrase unlocks. Otherwise
    ///     they become plain.
    ///   - progress: Receives bytes done and in total. Called often.
    /// - Returns: The files that could not be restored.
    /// - Throws: `ArchiveError`: `.noSpace` and `.file`, after which the next attempt continues; `.damaged` if a
    ///   database is damaged, since a directory needs all of them.
    public func run(
        isSealed: Bool, progress: (_ done: UInt64, _ total: UInt64) -> Void
    ) throws -> [Extraction.Failure] {
        do {
            let folder = try DataDirectory.unclaimed(unfinished, purpose: "chatfs import")
            guard try folder.directory.tryLock(named: unfinished) else {
                throw ArchiveError(
                    .file, "Another import into this data directory is running; wait until it ends.")
            }
            try Self.keep(only: extraction.manifest.entries.map { $0.name.parts[...] }, in: folder.directory)
            try requireSpace(in: folder)
            let failures = try extraction.run(into: folder.directory, progress: progress)
            try settleDatabases(failures, isSealed: isSealed)
            try finish(folder, isSealed: isSealed)
            return failures
                + extraction.manifest.entries.filter(\.isDamaged).map {
                    Extraction.Failure(
                        name: $0.name, sentence: "It was damaged before it was archived.")
                }
        } catch let error as SystemError {
            throw ArchiveError(error)
        } catch let error as StoreError where error.code == .diskFull {
            throw ArchiveError(.noSpace, error.sentence, cause: error)
        }
    }

    /// Removes everything except these entries, by the parts of their names: files of an attempt with another archive,
    /// whose key differs, and plain copies of databases. The directory would keep them.
    private static func keep(only entries: [ArraySlice<String>], in folder: OpenFile) throws(SystemError) {
        let named = Dictionary(grouping: entries) { $0.first ?? "" }
        try PrivateFolder.removeContents(of: folder, keeping: Set(named.keys).union([PrivateFolder.marker]))
        for (name, entries) in named {
            let below = entries.map { $0.dropFirst() }.filter { !$0.isEmpty }
            let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
            guard !below.isEmpty, let inner = try OpenFile.existing(name, flags: flags, in: folder) else {
                continue
            }
            try keep(only: below, in: inner)
        }
    }

    /// Check the space before a long import. Files of an earlier attempt count as present.
    private func requireSpace(in folder: PrivateFolder) throws {
        let present = extraction.manifest.entries.reduce(UInt64(0)) { sum, entry in
            var status = stat()
            return sum + (stat("\(folder.path)/\(entry.name)", &status) == 0 ? UInt64(status.st_size) : 0)
        }
        let needed = total > present ? total - present : 0
        guard try folder.directory.availableBytes() < needed else { return }
        throw ArchiveError(
            .noSpace,
            "The archive needs \(ByteCount.rounded(needed)) more than is free; free some space or choose a folder "
                + "on another disk with --data.")
    }

    private func settleDatabases(_ failures: [Extraction.Failure], isSealed: Bool) throws {
        for entry in extraction.manifest.entries where ArchivedFile.isDatabase(entry.name) {
            let place = "\(unfinished)/\(entry.name)"
            guard !failures.contains(where: { $0.name == entry.name }),
                try DatabaseCheck.problems(path: place, key: key, limit: 1).isEmpty
            else {
                throw ArchiveError(
                    .damaged, "\(entry.name) in the archive is damaged; use another archive.")
            }
            if !isSealed { try makePlain(place) }
            for suffix in ["-wal", "-shm"] { unlink(place + suffix) }
        }
    }

    private func makePlain(_ place: String) throws {
        let plain = place + ".plain"
        for suffix in ["", "-wal", "-shm"] { unlink(plain + suffix) }
        try DatabaseCopy.make(from: place, key: key, to: plain, key: nil)
        for suffix in ["-wal", "-shm"] { unlink(plain + suffix) }
        try check("replace a database") { rename(plain, place) }
    }

    /// Writes the markers of ChatFS's folders, which archives omit.
    private func markFolders() throws {
        var purposes: [String: String] = [:]
        for entry in extraction.manifest.entries {
            let parts = entry.name.parts
            if OfficialFolder.isName(parts[0]) {
                purposes[parts[0]] = OfficialCoreSettings.purpose
                if parts.count > 2 {
                    purposes[parts[0] + "/" + parts[1]] = OfficialCoreSettings.profilePurpose
                }
            }
            if entry.name.text.hasSuffix("/outbox/journal.sqlite") {
                purposes[entry.name.text.parentPath] = Outbox.purpose
            }
        }
        for (place, purpose) in purposes {
            try PrivateFolder.write(
                Array((purpose + "\n").utf8), to: PrivateFolder.marker,
                in: OpenFile("\(unfinished)/\(place)", flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW))
        }
    }

    private func finish(_ folder: PrivateFolder, isSealed: Bool) throws {
        if !isSealed { unlinkat(folder.directory.descriptor, ArchivedFile.keys, 0) }
        try markFolders()
        for entry in extraction.manifest.entries where entry.name.text.hasSuffix("/agent.sqlite") {
            let place = "\(unfinished)/\(entry.name)".dropLast("/agent.sqlite".count)
            try PrivateFolder.write(
                [], to: ProfileFolders.restoredMark,
                in: OpenFile(String(place), flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW))
        }
        try folder.directory.synchroniseFilesystem()
        try DataDirectory.claim(folder)
        // rename(2) replaces an empty folder, but not one with files.
        try check("give the data directory its place") { rename(unfinished, path) }
        try OpenFile(path.parentPath, flags: O_RDONLY | O_DIRECTORY).synchronise()
    }
}
