import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// A folder of decrypted files with modes 0700 and 0600: a subfolder for each chat, perhaps with its log in
/// `messages.jsonl`, and a description of all files in `manifest.json`. It contains nothing else. Further runs add new files. All calls block; one thread.
public final class PlainFolder {
    /// The outcome of one file.
    public enum Outcome: Hashable, Sendable {
        case written
        /// The file exists as it was written.
        case unchanged
        /// The file had been deleted and was written again.
        case writtenAgain
        /// The file's size or time differs from the written one. It was kept.
        case changed
        /// The data directory does not have the file's bytes.
        case notHere
        /// A sentence with the reason.
        case failed(String)
    }

    private let folder: PrivateFolder
    private let lock: OpenFile
    private var manifest: PlainManifest
    private let journal: PlainJournal
    /// Places in the manifest by message number. Several messages have the same one if a phone's database
    /// was created again.
    private var known: [Int64: [Int]] = [:]
    /// Places in the manifest.
    private var paths: [String: Int] = [:]
    private var unsaved = 0
    /// The log that is being written.
    private var log: OpenFile?

    private static let lockName = ".lock"
    private static let logName = "messages.jsonl"
    /// The file that is being written. Not in a chat's folder, whose files may have this name.
    private static let unfinished = ".new"
    private static let saveEvery = 200

    /// Names that no chat's folder may have.
    public static let reservedNames: Set<String> = [PlainManifest.name, lockName, unfinished]

    /// Opens or creates the folder.
    /// - Parameter profile: The owner of the files.
    /// - Throws: `SystemError` for a folder with other content or permissions for others; `ArchiveError` for a folder
    ///   of another profile, or one in use by another process.
    public init(_ path: String, of profile: Profile) throws {
        folder = try PrivateFolder(path, purpose: "chatfs decrypted files of profile \(profile.id)")
        lock = try OpenFile(Self.lockName, flags: O_RDWR | O_CREAT | O_NOFOLLOW, in: folder.directory)
        guard try lock.tryLock() else {
            throw ArchiveError(.file, "Another export into this folder is running; wait until it ends.")
        }
        manifest = PlainManifest(profile: profile.displayName)
        journal = PlainJournal(in: folder.directory)
        let stored = try OpenFile.existing(
            PlainManifest.name, flags: O_RDONLY | O_NOFOLLOW, in: folder.directory)
        if let file = stored {
            let found = JSONText.decoded(
                PlainManifest.self, from: try file.readAll(limit: PlainManifest.longest))
            guard let found, found.isOurs else {
                throw ArchiveError(
                    .malformed,
                    "The manifest in the folder cannot be read; choose another folder or delete this one.")
            }
            manifest = found
            manifest.profile = profile.displayName
        }
        for (index, entry) in manifest.files.enumerated() {
            known[entry.item, default: []].append(index)
            paths[entry.path] = index
        }
        let unlisted = try journal.entries()
        for entry in unlisted { add(entry) }
        if !unlisted.isEmpty { try save() }
    }

    /// Writes a file unless it exists. Another message of the same number keeps its file.
    /// - Parameters:
    ///   - chat: The chat's folder name and title.
    ///   - name: The preferred name. A number is appended if it exists.
    ///   - progress: Receives the length of every piece in bytes.
    /// - Throws: `ArchiveError` `.noSpace`.
    public func put(
        _ item: ChatItem, chat: (folder: String, title: String), name: String, progress: (UInt64) -> Void
    ) throws(ArchiveError) -> Outcome {
        guard let file = item.file else { return .unchanged }
        let known = known[item.id.rawValue, default: []].lazy.map { self.manifest.files[$0] }
            .last { $0.isOf(item, file) }
        if let known {
            let outcome = look(known)
            if outcome != .notHere { return outcome }
        }
        guard let source = file.source, let arguments = source.arguments else { return .notHere }
        let path = known?.path ?? freePath(chat.folder, name)
        do {
            let place = try PrivateFolder.folder(path.parentPath, in: folder.directory)
            var entry = PlainManifest.Entry(
                item: item.id.rawValue, path: path, chat: chat.title, name: file.name, sender: item.sender,
                direction: PlainManifest.Entry.direction(of: item), time: item.time.seconds,
                size: file.size, sha256: "")
            try decrypt(
                source.path, arguments, size: file.size, to: path.lastPathName ?? "", in: place,
                time: item.time, progress
            ) { (digest) throws(SystemError) in
                entry.sha256 = Hexadecimal.encode(digest)
                try journal.append(entry)
            }
            try note(entry)
            return known == nil ? .written : .writtenAgain
        } catch {
            if let full = Self.fullDisk(error) { throw ArchiveError(full) }
            return .failed(sentence(of: error))
        }
    }

    /// Writes a piece of a chat's log, which is not in the manifest. The piece at 0 begins the log.
    /// - Throws: `.noSpace`, `.file`.
    public func putLog(_ bytes: [UInt8], at offset: UInt64) throws(ArchiveError) {
        try wrappingSystemError { () throws(SystemError) in
            if offset == 0 {
                log = try OpenFile(
                    Self.unfinished, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, in: folder.directory)
            }
            try log?.write(bytes, at: offset)
        }
    }

    /// Replaces the log of a chat by the one that was written.
    /// - Parameter chat: The chat's folder name.
    /// - Throws: `.noSpace`, `.file`.
    public func endLog(chat: String) throws(ArchiveError) {
        guard let written = log else { return }
        log = nil
        try wrappingSystemError { () throws(SystemError) in
            let place = try PrivateFolder.folder(chat, in: folder.directory)
            try written.synchronise()
            try check("replace a log") {
                renameat(folder.directory.descriptor, Self.unfinished, place.descriptor, Self.logName)
            }
            try place.synchronise()
        }
    }

    /// Returns the paths of files from earlier runs whose items are not in `items`. They are kept.
    public func leftOver(whenPresent items: Set<ItemID>) -> [String] {
        manifest.files.filter { !items.contains(ItemID($0.item)) }.map(\.path).sorted()
    }

    /// Writes the manifest durably. Call it at the end.
    /// - Throws: `.noSpace`, `.file`.
    public func save() throws(ArchiveError) {
        unsaved = 0
        let bytes = JSONText.encoded(manifest, isForPeople: true)
        try wrappingSystemError { () throws(SystemError) in try folder.write(bytes, to: PlainManifest.name) }
        journal.clear()
    }

    private func note(_ entry: PlainManifest.Entry) throws(ArchiveError) {
        add(entry)
        unsaved += 1
        if unsaved >= Self.saveEvery { try save() }
    }

    private func add(_ entry: PlainManifest.Entry) {
        if let index = paths[entry.path] {
            manifest.files[index] = entry
        } else {
            known[entry.item, default: []].append(manifest.files.count)
            paths[entry.path] = manifest.files.count
            manifest.files.append(entry)
        }
    }

    private func look(_ entry: PlainManifest.Entry) -> Outcome {
        var status = stat()
        guard fstatat(folder.directory.descriptor, entry.path, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            return .notHere
        }
        let isSame =
            status.st_mode & S_IFMT == S_IFREG && UInt64(status.st_size) == entry.size
            && Int64(status.st_mtim.tv_sec) == entry.time
        return isSame ? .unchanged : .changed
    }

    /// Returns a free path: `name`, or with a number appended. Other programs' files keep their names.
    private func freePath(_ chat: String, _ name: String) -> String {
        var path = "\(chat)/\(name)"
        var number = 1
        while paths[path] != nil || name == Self.logName && number == 1
            || faccessat(folder.directory.descriptor, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0
        {
            number += 1
            path = "\(chat)/\(SafeFileName.numbered(name, number))"
        }
        return path
    }

    /// Decrypts a file and names it after its tag was verified.
    /// - Parameters:
    ///   - size: Bytes of plaintext, from the message. A file of another size is refused.
    ///   - verified: Receives the SHA-256 of the content before the file gets its name.
    private func decrypt(
        _ source: String, _ arguments: FileArguments, size: UInt64, to name: String, in place: OpenFile,
        time: Timestamp, _ progress: (UInt64) -> Void, verified: ([UInt8]) throws(SystemError) -> Void
    ) throws {
        let directory = folder.directory
        let reader = try CryptoFileReader(
            file: OpenFile(source, flags: O_RDONLY | O_NOFOLLOW), arguments: arguments)
        guard reader.size == size else {
            throw ArchiveError(.malformed, "The size of the stored file differs from its message.")
        }
        let file = try OpenFile(
            Self.unfinished, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, in: directory)
        do {
            var digest = SHA256()
            var position: UInt64 = 0
            try reader.decrypt { (piece) throws(CryptographyError) in
                do throws(SystemError) { try file.write(piece, at: position) } catch {
                    throw CryptographyError(error)
                }
                digest.update(piece)
                position += UInt64(piece.count)
                progress(UInt64(piece.count))
            }
            let moment = timespec(tv_sec: Int(time.seconds), tv_nsec: 0)
            try check("set the time of a file") { futimens(file.descriptor, [moment, moment]) }
            try file.synchronise()
            try verified(digest.finalize())
            try check("give a file its name") {
                renameat(directory.descriptor, Self.unfinished, place.descriptor, name)
            }
        } catch {
            unlinkat(directory.descriptor, Self.unfinished, 0)
            throw error
        }
    }

    private static func fullDisk(_ error: any Error) -> SystemError? {
        let found =
            (error as? SystemError) ?? (error as? CryptographyError)?.systemError
            ?? (error as? ArchiveError)?.cause as? SystemError
        return found.flatMap { $0.isFullDisk ? $0 : nil }
    }
}
